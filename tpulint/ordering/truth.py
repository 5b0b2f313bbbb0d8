"""Kleene's three-valued logic, and its transitive closure over the edges of a graph."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

NodeT = TypeVar("NodeT", bound=Hashable)


class Truth(enum.IntEnum):
    """Whether something holds: on no run, on some run, or on every run that is asked about."""

    NO = 0
    MAYBE = 1
    YES = 2


def any3(truths: Iterable[Truth]) -> Truth:
    """Return whether one of `truths` holds."""
    return max(truths, default=Truth.NO)


def all3(truths: Iterable[Truth]) -> Truth:
    """Return whether all of `truths` hold."""
    return min(truths, default=Truth.YES)


def closure(
    truths: Mapping[NodeT, Truth], dependents: Callable[[NodeT], Iterable[tuple[NodeT, Truth]]]
) -> dict[NodeT, Truth]:
    """Return the least truths that are at least `truths`, and that pass on to dependents.

    A dependent is at least as true as what it depends on, as far as the edge between them holds.
    Nodes that are not in `truths` pass nothing on.
    """
    reached = dict(truths)
    for level in (Truth.YES, Truth.MAYBE):
        unread = [node for node, truth in reached.items() if truth >= level]
        while unread:
            for dependent, edge in dependents(unread.pop()):
                if edge >= level and reached.get(dependent, Truth.YES) < level:
                    reached[dependent] = level
                    unread.append(dependent)
    return reached
