"""A hang of TensorFlow's own: all its threads wait for one of its threads.

It has as many as the machine has cores. A Python function of a graph holds one, and a function of
TensorFlow's that it calls in turn needs another; when all are held like that, none comes free. So
the Python function that takes the last of them runs in a thread of its own, and TensorFlow's thread
waits for it, and fails when the others wait too and there is no more progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute.raising import FaultToken, token_for
from tpulint.runtime.source_location import place_in_thread
from tpulint.runtime.tensorflow_internals.threads import (
    Awaited,
    awaited_by_thread,
    is_tensorflows_thread,
    num_threads,
)

_FOREVER_SECONDS = 5.0
"""Seconds without progress after which there will be none."""
_LOOK_SECONDS = 0.1
"""Seconds between two looks."""
_IDLE_SHARE = 0.5
"""The share of one core below which the process does not compute."""

Function = Callable[[], Any]


class PythonFunctionPool:
    """The threads of TensorFlow that Python functions hold now."""

    def __init__(self) -> None:
        self._runners: dict[int, int] = {}
        """For each thread that is held the one that runs the function. It has no lock: every Python
        function comes here, and a single operation on a dict is atomic in CPython."""

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `function(*args)`, run in this thread of TensorFlow's or in one of its own."""
        thread = threading.get_ident()
        if thread in self._runners or not is_tensorflows_thread():
            return function(*args)
        self._runners[thread] = thread
        try:
            if len(self._runners) < num_threads():
                return function(*args)
            return self._wait_with_watchdog(thread, lambda: function(*args))
        finally:
            del self._runners[thread]

    def places(self) -> list[str]:
        """Return the user's lines in the Python functions that run now."""
        lines = (place_in_thread(thread) for thread in tuple(self._runners.values()))
        return [place for place in lines if place]

    def _wait_with_watchdog(self, thread: int, function: Function) -> Any:
        """Return `function()`, run in a thread of its own for as long as there is progress."""
        call = _DetachedCall(function)
        self._runners[thread] = call.thread
        idle: _IdlePeriod | None = None
        while not call.ended.wait(_LOOK_SECONDS):
            waits = self._all_wait()
            if idle is None or idle.waits != waits or idle.is_over():
                idle = _IdlePeriod(waits) if waits else None
            elif idle.lasts_forever():
                raise _starved(idle.waits)
        return call.result()

    def _all_wait(self) -> dict[int, Awaited]:
        """Return the waits of the Python functions by thread, if they hold all and all wait."""
        threads = tuple(self._runners.values())
        waits = {thread: awaited_by_thread(thread) for thread in threads}
        awaited_by = {thread: awaited for thread, awaited in waits.items() if awaited is not None}
        starved = len(awaited_by) == len(threads) >= num_threads()
        return awaited_by if starved else {}


class _IdlePeriod:
    """A time in which all threads wait for the same, and the probes that show its end."""

    def __init__(self, waits: Mapping[int, Awaited]) -> None:
        self.waits = waits
        self._since = time.monotonic()
        self._computed = time.process_time()
        self._probes: list[_DetachedCall] = []

    def is_over(self) -> bool:
        """Return whether there was a free thread."""
        return any(probe.ended.is_set() for probe in self._probes)

    def lasts_forever(self) -> bool:
        """Return whether nothing has been computed for so long that nothing will be."""
        seconds = time.monotonic() - self._since
        if seconds > _FOREVER_SECONDS / 2 and not self._probes:
            self._probes = [
                _DetachedCall(probe) for probe in {awaited.probe for awaited in self.waits.values()}
            ]
        return (
            seconds > _FOREVER_SECONDS
            and time.process_time() - self._computed < _IDLE_SHARE * seconds
        )


def _starved(waits: Mapping[int, Awaited]) -> FaultToken:
    places = {thread: place_in_thread(thread) for thread in waits}
    lines = [
        f"  at {places[thread] or 'a place unknown'}: waits for {awaited.name}"
        for thread, awaited in waits.items()
    ]
    message = (
        f"Python functions hold all {len(waits)} threads of TensorFlow, "
        "and each waits for a thread of TensorFlow\n" + "\n".join(lines) + "\n"
        "  tf.config.threading.set_inter_op_parallelism_threads gives it more, at the start"
    )
    place = next((place for place in places.values() if place), None)
    return token_for(DeadlockError(message, place=place, rule=""))


class _DetachedCall:
    """A function that runs in a thread of its own, abandoned if no other thread waits for it."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._results: list[Any] = []
        self._errors: list[BaseException] = []
        self.ended = threading.Event()
        started = threading.Thread(target=self._run, daemon=True, name="tpulint")
        started.start()
        self.thread = started.ident or 0

    def result(self) -> Any:
        """Return its result, or raise its exception."""
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:  # it is raised again in the thread that waits
            self._errors.append(error)
        finally:
            self.ended.set()


_pool = PythonFunctionPool()


def host_functions() -> list[str]:
    """Return the user's lines that Python functions of graphs are at now."""
    return _pool.places()


def run_watched(function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(*args)`, of a graph, that never waits forever for TensorFlow's threads."""
    return _pool.run(function, *args)
