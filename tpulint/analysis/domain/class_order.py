"""The order in which Python looks a name up in a class and its bases."""

from __future__ import annotations

from tpulint.analysis.domain.objects import Class
from tpulint.analysis.domain.values import Value


def mro(cls: Class) -> list[Value]:
    """The class and its bases, each before its own and in the order given, as Python has them."""
    return _line(cls, {})


def _line(cls: Class, known: dict[Class, list[Value]]) -> list[Value]:
    """The same; `known` are the orders of bases, of which one may be reached in many ways."""
    if cls not in known:
        lines = [_line(each, known) if isinstance(each, Class) else [each] for each in cls.bases]
        known[cls] = [cls, *_merged([*lines, list(cls.bases)])]
    return known[cls]


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
