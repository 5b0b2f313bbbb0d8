"""A bound on the size of structures, so that every walk over one ends soon.

A few lines can describe a list of a billion items, or one that contains itself. The size of a
structure counts every value in it, as often as a walk comes by it. What does not fit is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from weakref import ReferenceType, ref

from tpulint.analysis.domain.values import UNKNOWN, Value, options

LARGEST = 4096


class Sized(Value):
    """A structure that knows its size, and the structures that it is in: it can grow later.

    Everything is at most `LARGEST`, and nothing contains itself.
    """

    __slots__ = ("__weakref__", "holders", "size")

    size: int
    holders: list[ReferenceType[Sized]]

    def start_size(self) -> None:
        """Count what holds the items of a new structure, which nothing holds yet."""
        self.size = 1
        self.holders = []

    def take(self, items: Iterable[Value], instead: Value | None = None) -> bool:
        """Return whether there is room for `items`, and count them; all of them, or none.

        instead: the item that they replace.
        """
        listed = list(items)
        amount = sum(map(size_of, listed)) - (0 if instead is None else size_of(instead))
        inside = [each for item in listed for each in options(item) if isinstance(each, Sized)]
        around = self._around()
        if around is None or any(each in around for each in inside):
            return False
        if any(each.size + amount * times > LARGEST for each, times in around.items()):
            return False
        for each, times in around.items():
            each.size += amount * times
        for each in inside:
            each.holders.append(ref(self))
        return True

    def _around(self) -> Counter[Sized] | None:
        """Return this and all that it is in, with how often it is; None where that is too much."""
        found = [self]
        for each in found:  # it grows meanwhile
            if each.holders:
                found += [holder for it in each.holders if (holder := it()) is not None]
            if len(found) > LARGEST:
                return None
        return Counter(found)


def size_of(value: Value) -> int:
    """Return how many values a walk over this one comes by."""
    if isinstance(value, Sized):
        return value.size
    alternatives = options(value)
    return 1 if alternatives[0] is value else 1 + sum(map(size_of, alternatives))


def without_structures(items: Iterable[Value]) -> list[Value]:
    """Return the items, those that are structures, or may be, unknown."""
    return [UNKNOWN if size_of(each) > 1 or isinstance(each, Sized) else each for each in items]
