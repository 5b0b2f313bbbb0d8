"""The order in which Python looks a name up in a class and its bases."""

from __future__ import annotations

from tpulint.analysis.domain.objects import Class
from tpulint.analysis.domain.values import Value


def mro(cls: Class) -> list[Value]:
    """Return the class and its bases, each before its own and in the order given, as Python does.

    It is found once for each class, in however many ways the class is reached.
    """
    if cls.order is None:
        lines = [mro(each) if isinstance(each, Class) else [each] for each in cls.bases]
        cls.order = [cls, *_merged([*lines, list(cls.bases)])]
    return cls.order


def _merged(lines: list[list[Value]]) -> list[Value]:
    rows = [row for row in lines if row]
    found: list[Value] = []
    while rows:
        heads = [row[0] for row in rows]
        free = [each for each in heads if not any(each in row[1:] for row in rows)]
        first = free[0] if free else heads[0]  # Python refuses a class without such an order
        found.append(first)
        rows = [left for row in rows if (left := [each for each in row if each != first])]
    return found
