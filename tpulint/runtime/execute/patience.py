"""The limit of waits: one for infeeds, outfeeds, embeddings, and queues and locks of host clusters.

It is the deadline of the computation. Without one a wait may last for as long as something is at
work that could end it, and then for `LIMIT` seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable, Sequence

from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute.stillness import stillness
from tpulint.runtime.schedule.locks import Wait

LIMIT = 60.0
"""Seconds for which nothing may be at work while something waits, where there is no deadline."""


class Waits:
    """A thread-safe record of the waits at this moment."""

    def __init__(self) -> None:
        self._waits: dict[Hashable, Wait] = {}
        self._lock = threading.Lock()

    def add(self, key: Hashable, wait: Wait) -> None:
        """Note that `wait` has begun."""
        with self._lock:
            self._waits[key] = wait

    def remove(self, key: Hashable) -> None:
        """Note that the wait has ended."""
        with self._lock:
            self._waits.pop(key, None)

    def clear(self) -> None:
        """Forget all waits."""
        with self._lock:
            self._waits.clear()

    def all(self) -> tuple[Wait, ...]:
        """Return all waits at this moment."""
        with self._lock:
            return tuple(self._waits.values())


class Patience:
    """The limit of the waits in one run of a graph, or in one Python thread.

    `seconds` are counted from the beginning of the wait, whatever is at work.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._since: float | None = None

    def is_over(self, waits: Sequence[Wait], waiting: Iterable[Hashable]) -> bool:
        """Return whether `waits` have taken too long.

        `waiting` has the tokens of the Python functions in the graph that waits, or the Python
        thread.
        """
        if not waits:
            self._since = None
            stillness.forget(waiting)
            return False
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if self._seconds is not None:
            return now - self._since >= self._seconds
        stillness.note(waiting, waits)
        return min(now - self._since, stillness.seconds()) >= LIMIT


def deadlock(first_line: str, waits: Sequence[Wait]) -> DeadlockError:
    """Return the error of waits that have taken too long, and of all other waits in the process."""
    listed = [*waits, *stillness.waits()]
    rules = {wait.rule for wait in waits}
    return DeadlockError(
        "\n".join([first_line, *dict.fromkeys(f"  {wait}" for wait in listed)]),
        place=next((wait.place for wait in waits if wait.place), None),
        rule=rules.pop() if len(rules) == 1 else "",
    )
