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

from tpulint.runtime import python_functions
from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute import patience
from tpulint.runtime.execute.awaited import WAITING, wait_in
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.patience import Patience, Waits, deadlock
from tpulint.runtime.execute.probes import Unfinished
from tpulint.runtime.execute.raising import Ticket, ticket_for
from tpulint.runtime.execute.stillness import stillness
from tpulint.runtime.execute.watch_loop import watch_loop
from tpulint.runtime.extract.kernels import PYTHON_FUNCTIONS
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.attributes import string_attr
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import place_of_operation
from tpulint.runtime.tensorflow_internals import operations

_TICK = 0.002
"""Seconds between two looks at a Python function."""


class Deadline:
    """A watch on the steps of one computation, of which one runs at a time.

    It limits a step to `seconds`, or else its `waits` to the patience that all waits have, if it
    `may_wait`.
    """

    def __init__(
        self,
        seconds: float | None,
        waits: Waits,
        of_replicas: Callable[[], Sequence[Wait]],
        started: Callable[[], Sequence[Unfinished]],
        *,
        may_wait: bool,
    ) -> None:
        self._seconds = seconds
        self._waits = waits
        self._of_replicas = of_replicas
        self._started_pieces = started
        self._tokens: list[str] = []
        self.watches = seconds is not None or may_wait
        self._begin()

    def begin(self) -> list[Operation]:
        """Return operations that start the clock."""
        return [call_python(self._begin)] if self.watches else []

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
        return [watch_loop(self._look, [], self._tokens, waits_for)]

    def names(self, op: Operation, image: Operation, lane: str, replica: Tensor) -> list[Operation]:
        """Note when `image`, the copy of `op`, waits for others; return operations that end it."""
        if op.type not in WAITING:
            return []
        wait = wait_in(op, lane)
        needs = [*(tensor.op for tensor in image.inputs), *image.control_inputs]
        with tf.control_dependencies(needs):
            comes = call_python(lambda of: self._waits.add((int(of), op), wait), [replica])
        operations.add_control_inputs(image, [comes])
        with tf.control_dependencies([image]):
            return [call_python(lambda of: self._waits.remove((int(of), op)), [replica])]

    def bounds(self, op: Operation, image: Operation, lane: str) -> None:
        """Make `image`, the copy of `op` of a host cluster, give up if it is a Python function."""
        if self._seconds is None or op.type not in PYTHON_FUNCTIONS:
            return
        wait = Wait(lane, "Python", "waits for a Python function", place_of_operation(op))
        token = python_functions.around_python_function(
            op.get_attr("token"), lambda function: _Bounded(function, self, wait)
        )
        if token is not None:
            operations.set_attr(image, "token", string_attr(token.decode()))

    def call(self, function: Callable[..., Any], arguments: Any, wait: Wait) -> Any:
        """Return `function(*arguments)`, or give it up when the step has taken too long."""
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(function(*arguments))
            except BaseException as error:  # it is raised again in the step's thread
                errors.append(error)

        key = object()
        self._waits.add(key, wait)
        thread = threading.Thread(target=run, daemon=True, name=f"tpulint {wait.lane}")
        thread.start()
        while thread.is_alive() and self._left() > 0 and not self._failed.is_set():
            thread.join(min(_TICK, max(self._left(), 0.0)))
        if thread.is_alive():
            raise self._expired()
        self._waits.remove(key)
        if errors:
            raise errors[0]
        return results[0]

    def _begin(self) -> None:
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._failed = threading.Event()
        self._patience = Patience()
        self._waits.clear()

    def _left(self) -> float:
        """Return the seconds that the step still has."""
        taken = time.monotonic() - self._started
        return float("inf") if self._seconds is None else self._seconds - taken

    def _look(self) -> bool:
        if self._ended.is_set():
            stillness.forget(self._tokens)
            return False
        if self._left() <= 0:
            raise self._expired()
        waits = self._all_waits()
        if self._seconds is None and self._patience.is_over(waits, self._tokens):
            fault = deadlock(
                "The step waits, and nothing that could end its waits has run for "
                f"{patience.LIMIT:g} s",
                waits,
            )
            stillness.forget(self._tokens)
            raise ticket_for(fault)
        return True

    def _all_waits(self) -> list[Wait]:
        return [*self._of_replicas(), *self._waits.all()]

    def _expired(self) -> Ticket:
        self._failed.set()
        first_line = f"The step has taken more than {self._seconds:g} s"
        waits = self._all_waits()
        if waits:
            return ticket_for(deadlock(first_line, waits))
        lines = list(map(_description, self._started_pieces()))
        lines = lines or ["  none of its operations is known to wait: it is at work"]
        return ticket_for(DeadlockError("\n".join([first_line, *lines]), rule=""))


def _description(segment: Unfinished) -> str:
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
