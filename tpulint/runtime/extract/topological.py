"""A stable topological order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def in_order(things: Iterable[T], needs: Callable[[T], Iterable[T]]) -> list[T]:
    """Return `things`, each after those of its `needs` that are among them.

    Among those that are ready the earliest goes first; a cycle stays as it was.
    """
    given = list(things)
    place = {thing: number for number, thing in enumerate(given)}
    missing = {thing: {one for one in needs(thing) if one in place} - {thing} for thing in given}
    followers: dict[T, list[T]] = {}
    for thing, needed in missing.items():
        for one in needed:
            followers.setdefault(one, []).append(thing)
    ready = [place[thing] for thing in given if not missing[thing]]
    heapq.heapify(ready)
    found: list[T] = []
    while ready:
        thing = given[heapq.heappop(ready)]
        found.append(thing)
        for follower in followers.get(thing, ()):
            missing[follower].discard(thing)
            if not missing[follower]:
                heapq.heappush(ready, place[follower])
    if len(found) < len(given):
        done = set(found)
        found += [thing for thing in given if thing not in done]
    return found
