"""The last resort: a step that takes too long fails, and reports the waits in it.

TensorFlow gives up its own waits when the step fails. It cannot give up a Python function that
does not return: with a deadline, those run in threads of their own, and are left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute.awaited import WAITING, awaited
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.clock import Clock
from tpulint.runtime.execute.feeds import PATIENCE, Feeds
from tpulint.runtime.execute.probes import Unfinished
from tpulint.runtime.execute.raising import Ticket, safely, ticket_for
from tpulint.runtime.extract.python_functions import PYTHON
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.attributes import string_attr
from tpulint.runtime.schedule.wait_graph import Wait, WaitGraph
from tpulint.runtime.source_location import place_of_operation

_TICK = 0.002
"""Seconds between two looks at the clock."""


class Deadline:
    """A watch on the steps of one computation, of which one runs at a time.

    It limits a step to `seconds`, and its wait for an infeed to a patience of its own.
    """

    def __init__(
        self,
        seconds: float | None,
        waits: Callable[[], Sequence[Wait]],
        feeds: Feeds,
        started: Callable[[], Sequence[Unfinished]],
    ) -> None:
        self._seconds = seconds
        self._waits = waits
        self._feeds = feeds
        self._started_pieces = started
        self.watches = seconds is not None or feeds.may_wait
        self._in_clusters = WaitGraph()
        self._begin()

    def begin(self) -> list[Operation]:
        """Return operations that start the clock."""
        return [call_python(self._begin), *self._feeds.begin()] if self.watches else []

    def end(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that report the end of the step."""
        if not self.watches:
            return []
        with tf.control_dependencies(waits_for):
            return [call_python(lambda: self._ended.set())]

    def watch(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that run until the step has ended, and fail when it takes too long."""
        if not self.watches:
            return []

        clock = Clock(_TICK)

        def is_running(before: Tensor) -> Tensor:
            with tf.control_dependencies([before]):
                tick = clock.tick()
            with tf.control_dependencies([tick]):
                (running,) = tensorflow_internals.python_function(safely(self._look), [], [tf.bool])
            running.set_shape([])
            return running

        with tf.control_dependencies([*waits_for, clock.started]):
            start = tf.identity(True)
        loop = tf.while_loop(is_running, tf.identity, [start], parallel_iterations=1)
        return [loop[0].op if isinstance(loop, (list, tuple)) else loop.op]

    def names(self, op: Operation, image: Operation, lane: str) -> list[Operation]:
        """Note that `image`, the copy of `op`, waits for a queue; return operations that end it."""
        if self._seconds is None or op.type not in WAITING:
            return []
        wait = Wait(lane, op.name, f"waits in {op.type} {awaited(op)}", place_of_operation(op))
        needs = [*(tensor.op for tensor in image.inputs), *image.control_inputs]
        with tf.control_dependencies(needs):
            comes = call_python(lambda: self._in_clusters.add(wait))
        tensorflow_internals.add_control_inputs(image, [comes])
        with tf.control_dependencies([image]):
            return [call_python(lambda: self._in_clusters.remove(lane))]

    def bounds(self, op: Operation, image: Operation, lane: str) -> None:
        """Make `image`, the copy of `op` of a host cluster, give up if it is a Python function."""
        if self._seconds is None or op.type not in PYTHON:
            return
        wait = Wait(lane, "Python", "waits for a Python function", place_of_operation(op))
        token = tensorflow_internals.around_python_function(
            op.get_attr("token"), lambda function: _Bounded(function, self, wait)
        )
        if token is not None:
            tensorflow_internals.set_attr(image, "token", string_attr(token.decode()))

    def call(self, function: Callable[..., Any], arguments: Any, wait: Wait) -> Any:
        """Return `function(*arguments)`, or give it up when the step has taken too long."""
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(function(*arguments))
            except BaseException as error:  # it is raised again in the step's thread
                errors.append(error)

        self._in_clusters.add(wait)
        thread = threading.Thread(target=run, daemon=True, name=f"tpulint {wait.lane}")
        thread.start()
        while thread.is_alive() and self._left() > 0 and not self._failed.is_set():
            thread.join(min(_TICK, max(self._left(), 0.0)))
        if thread.is_alive():
            raise self._expired()
        self._in_clusters.remove(wait.lane)
        if errors:
            raise errors[0]
        return results[0]

    def _begin(self) -> None:
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._failed = threading.Event()

    def _left(self) -> float:
        if self._seconds is None:
            return self._feeds.patience_left()
        return self._seconds - (time.monotonic() - self._started)

    def _look(self) -> bool:
        if self._ended.is_set():
            return False
        if self._left() <= 0:
            raise self._expired()
        return True

    def _expired(self) -> Ticket:
        self._failed.set()
        waits = [*self._waits(), *self._feeds.waits(), *self._in_clusters.all()]
        taken = "has taken" if self._seconds is not None else "has waited for its infeed for"
        seconds = PATIENCE if self._seconds is None else self._seconds
        lines = [f"  {wait}" for wait in waits] or list(map(_said, self._started_pieces()))
        lines = lines or ["  none of its operations is known to wait: it is at work"]
        return ticket_for(
            DeadlockError(
                f"The step {taken} more than {seconds} s\n" + "\n".join(lines),
                place=next((wait.place for wait in waits if wait.place), None),
                rule="",
            )
        )


def _said(segment: Unfinished) -> str:
    where = f" ({segment.place})" if segment.place else ""
    return f"  {segment.lane} of replica {segment.replica}: has started, and not ended{where}"


class _Bounded:
    """A Python function of the graph, called for as long as the step may take."""

    def __init__(self, function: Callable[..., Any], deadline: Deadline, wait: Wait) -> None:
        self._function = function
        self._deadline = deadline
        self._wait = wait

    def __call__(self, *arguments: Any) -> Any:
        return self._deadline.call(self._function, arguments, self._wait)
