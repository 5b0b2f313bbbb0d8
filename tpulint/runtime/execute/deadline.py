"""The last resort: a step that takes too long fails, and reports the waits in it.

TensorFlow gives up its own waits when the step fails. It cannot give up a Python function that
does not return: with a deadline, those run in threads of their own, and are left behind.

A loop in the graph looks, again and again, whether what runs beside it takes too long. TensorFlow
has as many threads as the machine has cores, for all steps of a process. A Python function that
sleeps holds one, and with a few of them no step would make progress. So the loop waits for the
ticks of an iterator, which waits in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent import futures
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime import python_functions
from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute import waiting
from tpulint.runtime.execute.probes import UnfinishedSegment
from tpulint.runtime.execute.raising import FaultToken, call_python, compute_by_python, token_for
from tpulint.runtime.execute.tensor_map import in_this_graph
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import workers
from tpulint.runtime.pods.devices import hosts_are_remote, on_coordinator, remote_host_of_core
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import operation_location
from tpulint.runtime.tensorflow_internals import graphs, operations

_NUMBER = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}
# Numbers of ticks, and the microseconds between them: the clock slows down as it runs. A look takes
# about a millisecond of a slow core, and a process that waits must not seem to compute.
_TICK_INTERVALS = ((500, 2_000), (100, 20_000), (2**62, 50_000))


def _clock() -> tuple[Tensor, Operation]:
    """Return an iterator that gives an element at each tick, and the operation that starts it."""
    parts = []
    for times, microseconds in _TICK_INTERVALS:
        start, stop, step = (tf.constant(number, tf.int64) for number in (0, times, 1))
        numbers = tf.raw_ops.RangeDataset(start=start, stop=stop, step=step, **_NUMBER)
        sleep = tf.constant(microseconds, tf.int64)
        parts.append(
            tf.raw_ops.SleepDataset(input_dataset=numbers, sleep_microseconds=sleep, **_NUMBER)
        )
    ticks = parts[0]
    for later in parts[1:]:
        ticks = tf.raw_ops.ConcatenateDataset(input_dataset=ticks, another_dataset=later, **_NUMBER)
    iterator = tf.raw_ops.AnonymousIteratorV3(**_NUMBER)
    return iterator, tf.raw_ops.MakeIterator(dataset=ticks, iterator=iterator)


def watch_loop(
    look: Callable[..., Any],
    values: Sequence[Tensor],
    tokens: list[str],
    waits_for: Sequence[Operation],
) -> Operation:
    """Return an operation that ends when `look(*values)` returns False, and fails as it does.

    The tokens of the Python functions in it are added to `tokens`.
    """
    ticks, started = _clock()
    asks = hosts_are_remote()

    def is_running(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            tick = tf.raw_ops.IteratorGetNext(iterator=ticks, **_NUMBER)[0].op
        operations.set_attr(tick, graphs.CLOCK, "tick")
        with tf.control_dependencies([_ask_hosts(tick)] if asks else [tick]):
            arguments = [in_this_graph(value) for value in values]
            (running,) = compute_by_python(look, arguments, [tf.bool])
        tokens.append(running.op.get_attr(graphs.TOKEN).decode())
        running.set_shape([])
        return running

    with tf.control_dependencies([*waits_for, started]):
        start = tf.identity(True)
    # One round at a time: a tick must not be taken before the look after the last.
    return tf.while_loop(is_running, tf.identity, [start], parallel_iterations=1)[0].op


def ask_hosts_now() -> None:
    """Ask the hosts that are processes how much they have computed, if it is time to."""
    if hosts_are_remote() and waiting.idle_time.wants_to_ask():
        _note_statuses(*(status.numpy() for status in workers.read_statuses()))


def _note_statuses(*statuses: bytes) -> None:
    waiting.idle_time.note_hosts(list(map(workers.processor_seconds, statuses)))


def _ask_hosts(after: Operation) -> Operation:
    """Return an operation of a graph that does, `after` another, what `ask_hosts_now` does."""

    def ask() -> Tensor:
        with tf.control_dependencies([call_python(_note_statuses, workers.read_statuses())]):
            return tf.constant(True)

    with on_coordinator(), tf.control_dependencies([after]):
        (wants,) = compute_by_python(
            lambda: np.bool_(waiting.idle_time.wants_to_ask()), [], [tf.bool]
        )
        return tf.cond(tf.reshape(wants, []), ask, lambda: tf.constant(False)).op


# Seconds between two looks at a Python function.
_LOOK_SECONDS = 0.002


@dataclass(eq=False)
class Deadline:
    """A watch on the steps of one computation, of which one runs at a time.

    It limits a step to `seconds`, or else its `waits` to the limit that all waits have, if it
    `may_wait`.
    """

    seconds: float | None
    waits: dict[Hashable, Wait]
    """Those of operations at this moment. It has no lock, as what is done with it is atomic in
    CPython: an entry comes or goes, all go, or all are copied."""
    of_replicas: Callable[[], Sequence[Wait]]
    """It returns the waits of replicas for one another."""
    started: Callable[[], Sequence[UnfinishedSegment]]
    names: Sequence[str]
    may_wait: bool

    def __post_init__(self) -> None:
        self.watches = self.seconds is not None or self.may_wait
        self._tokens: list[str] = []
        self._ended, self._failed = threading.Event(), threading.Event()
        self._begin()

    def begin(self) -> list[Operation]:
        """Return operations that start the clock."""
        return [call_python(self._begin)] if self.watches else []

    def end(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that report the end of the step."""
        return [call_python(self._ended.set, waits_for=waits_for)] if self.watches else []

    def watch(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that run until the step has ended, and fail when it takes too long."""
        return [watch_loop(self._look, [], self._tokens, waits_for)] if self.watches else []

    def note_wait(
        self, op: Operation, image: Operation, lane: str, replica: Tensor
    ) -> list[Operation]:
        """Note when `image`, the copy of `op`, waits for others; return operations that end it."""
        if op.type not in waiting.WAITING_OPERATIONS:
            return []
        is_pod = remote_host_of_core(0) is not None
        wait = waiting.wait_of_operation(op, lane)

        def comes(of: Any) -> None:
            own = f"{lane} of {self.names[int(of)]}" if is_pod else lane
            self.waits[int(of), op] = replace(wait, lane=own)

        # It waits from the moment when all else that it needs is there.
        needs = [*(tensor.op for tensor in image.inputs), *image.control_inputs]
        image._add_control_inputs([call_python(comes, [replica], needs)])
        return [call_python(lambda of: self.waits.pop((int(of), op), None), [replica], [image])]

    def bound_python_function(self, op: Operation, image: Operation, lane: str) -> None:
        """Make `image`, the copy of `op` of a host cluster, give up if it is a Python function."""
        # Without a deadline nothing ends, and a thread for each call would be a waste.
        if self.seconds is None or op.type not in operations.PYTHON_FUNCTIONS:
            return
        wait = Wait(lane, "Python", "waits for a Python function", operation_location(op))

        def bound(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *arguments: self.call(function, arguments, wait)

        token = python_functions.wrap_python_function(op.get_attr("token"), bound)
        if token is not None:
            operations.set_attr(image, "token", token.decode())

    def call(self, function: Callable[..., Any], arguments: Any, wait: Wait) -> Any:
        """Return `function(*arguments)`, or give it up when the step has taken too long."""
        key = object()
        self.waits[key] = wait
        detached, _ = waiting.run_detached(lambda: function(*arguments), f"tpulint {wait.lane}")
        # In short turns: another function may fail the step meanwhile.
        while not futures.wait([detached], min(_LOOK_SECONDS, max(self._left(), 0.0))).done:
            if self._left() <= 0 or self._failed.is_set():
                raise self._expire()
        self.waits.pop(key, None)
        return detached.result()

    def _begin(self) -> None:
        self._began = time.monotonic()
        self._ended.clear()
        self._failed.clear()
        self._limit = waiting.WaitLimit()
        self.waits.clear()

    def _left(self) -> float:
        """Return the seconds that the step still has."""
        taken = time.monotonic() - self._began
        return float("inf") if self.seconds is None else self.seconds - taken

    def _look(self) -> bool:
        # The loop in the graph ends with the step, or the step would wait for it.
        if self._ended.is_set():
            waiting.idle_time.forget(self._tokens)
            return False
        if self._left() <= 0:
            raise self._expire()
        waits = self._all_waits()
        if self.seconds is None and self._limit.is_over(waits, self._tokens):
            fault = waiting.deadlock_of_waits(
                "The step waits, and nothing runs that could end its waits", waits, self._tokens
            )
            raise token_for(fault)
        return True

    def _all_waits(self) -> list[Wait]:
        # The dict is copied first: it may change between two of its items.
        return [*self.of_replicas(), *tuple(self.waits.values())]

    def _expire(self) -> FaultToken:
        # Python functions that run on have to be left behind as well.
        self._failed.set()
        first_line = f"The step has taken more than {self.seconds:g} s"
        waits = self._all_waits()
        if waits:
            return token_for(waiting.deadlock_of_waits(first_line, waits))
        lines = list(map(_describe, self.started()))
        lines = lines or ["  none of its operations is known to wait: it is at work"]
        return token_for(DeadlockError("\n".join([first_line, *lines]), rule=""))


def _describe(segment: UnfinishedSegment) -> str:
    where = f" ({segment.place})" if segment.place else ""
    return f"  {segment.lane} of replica {segment.replica}: has started, and not ended{where}"
