"""The time for which nothing in the process has been at work that could end a wait.

A wait may last: for a program that is compiled, a pipeline that is slow, a host function that takes
its time, a thread that stops at a breakpoint. It lasts forever only where all others wait, too.
So the process is still where it hardly computes, and each of its Python threads waits for another
thread, or for a graph of TensorFlow that waits itself. A thread that runs neither a graph nor code
of the program, such as those of a notebook, starts no step, and does not count.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Hashable, Iterable, Sequence

from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import is_users
from tpulint.runtime.tensorflow_internals import threads

_LOOK = 0.25
"""Seconds between two looks."""
_IDLE = 0.1
"""The share of one core below which the process does not compute."""
_RECENT = 5.0
"""Seconds for which what has been noted counts: a wait that goes on is noted all the time."""
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_WAITS = frozenset(
    os.path.join(_STANDARD_LIBRARY, name) for name in ("threading.py", "queue.py", "selectors.py")
)
_DEBUGGERS = ("bdb.py", "pydevd.py")


class Stillness:
    """A watch on the process, by those that wait in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, tuple[float, tuple[Wait, ...]]] = {}
        """When waits were noted last, by the token of a Python function in their graph, or by their
        Python thread."""
        self._looked = self._since = float("-inf")
        self._computed = 0.0

    def note(self, waiting: Iterable[Hashable], waits: Sequence[Wait]) -> None:
        """Note the `waits` of a graph, given its tokens, or of a Python thread."""
        with self._lock:
            self._waiting.update(dict.fromkeys(waiting, (time.monotonic(), tuple(waits))))

    def forget(self, waiting: Iterable[Hashable]) -> None:
        """Note that this graph, or this Python thread, does not wait now."""
        with self._lock:
            for name in waiting:
                self._waiting.pop(name, None)

    def waits(self) -> tuple[Wait, ...]:
        """Return the waits that were noted a moment ago."""
        with self._lock:
            self._forget_ended(time.monotonic())
            return tuple(wait for _, waits in self._waiting.values() for wait in waits)

    def seconds(self) -> float:
        """Return for how long all that goes on has been waits."""
        with self._lock:
            now = time.monotonic()
            passed = now - self._looked
            if passed >= _LOOK:
                computed = time.process_time()
                computes = computed - self._computed > _IDLE * passed
                if passed > _RECENT or computes or self._is_at_work(now):
                    self._since = now
                self._looked, self._computed = now, computed
            return now - self._since

    def _is_at_work(self, now: float) -> bool:
        self._forget_ended(now)
        return any(self._works(thread) for thread in sys._current_frames())

    def _forget_ended(self, now: float) -> None:
        for waiting, (noted, _) in tuple(self._waiting.items()):
            if now - noted > _RECENT:
                del self._waiting[waiting]

    def _works(self, thread: int) -> bool:
        if thread in self._waiting:
            return False
        tokens = threads.python_functions_in_call(thread)
        if tokens is not None:
            return tokens.isdisjoint(self._waiting)
        stack = [filename for filename, _ in threads.stack_of_thread(thread)]
        if any(filename.endswith(_DEBUGGERS) for filename in stack):
            return True
        return any(map(is_users, stack)) and stack[-1] not in _WAITS


stillness = Stillness()
