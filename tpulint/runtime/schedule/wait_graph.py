"""The wait-for graph: the waits of lanes for one another, and the wait that closes a cycle.

A lane (a device program, a host cluster, a replica) waits for others; a variable that is held is
in the graph too, waiting for its holder to end. A lane needs everything that it waits for, so any
cycle is a deadlock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Wait:
    """`lane` waits for `held_up_by`; `reason` and the user's line say why.

    `rule` is the code of the rule that covers it, if there is one.
    """

    lane: str
    held_up_by: str
    reason: str
    place: str | None = None
    rule: str = ""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return f"{self.lane}: {self.reason}{where}"


class WaitGraph:
    """A thread-safe wait-for graph. Each `add` reports the cycle that it closes."""

    def __init__(self) -> None:
        self._waits: dict[str, dict[str, Wait]] = {}
        self._lock = threading.Lock()

    def add(self, *waits: Wait) -> tuple[Wait, ...]:
        """Add `waits`; return the cycle that they close, beginning with one of them, or ()."""
        with self._lock:
            for wait in waits:
                self._waits.setdefault(wait.lane, {})[wait.held_up_by] = wait
            for wait in waits:
                cycle = self._way(wait.held_up_by, wait.lane)
                if cycle is not None:
                    return (wait, *cycle)
        return ()

    def remove(self, lane: str) -> None:
        """Remove the waits of `lane`."""
        with self._lock:
            self._waits.pop(lane, None)

    def all(self) -> tuple[Wait, ...]:
        """Return all waits at this moment."""
        with self._lock:
            return tuple(self._everything())

    def _everything(self) -> Iterator[Wait]:
        for waits in self._waits.values():
            yield from waits.values()

    def _way(self, start: str, end: str) -> tuple[Wait, ...] | None:
        """Return the waits that lead from `start` to `end`, () if they are one, or None."""
        ways: dict[str, tuple[Wait, ...]] = {start: ()}
        unread = [start]
        while unread:
            lane = unread.pop()
            if lane == end:
                return ways[lane]
            for wait in self._waits.get(lane, {}).values():
                if wait.held_up_by not in ways:
                    ways[wait.held_up_by] = (*ways[lane], wait)
                    unread.append(wait.held_up_by)
        return None
