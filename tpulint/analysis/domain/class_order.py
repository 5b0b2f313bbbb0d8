"""The order in which Python looks a name up in a class and its bases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from itertools import islice

from tpulint.analysis.domain.objects import Class
from tpulint.analysis.domain.values import Value


def mro(cls: Class) -> list[Value]:
    """Return the class and its bases, each before its own and in the order given, as Python does.

    It is found once for each class, in however many ways the class is reached.
    """
    if cls.order is None:
        lines = [mro(each) if isinstance(each, Class) else [each] for each in cls.bases]
        cls.order = [cls, *(lines[0] if len(lines) == 1 else _merged([*lines, list(cls.bases)]))]
    return cls.order


def _merged(lines: list[list[Value]]) -> list[Value]:
    """Return the values of all lines, each before those that follow it in any line.

    Python refuses a class without such an order; here the next value of the first line is taken.
    """
    rows = [line[::-1] for line in lines if line]  # what comes next is at the end
    later = Counter(each for row in rows for each in row[:-1])
    by_next: dict[Value, list[list[Value]]] = {}
    for row in rows:
        by_next.setdefault(row[-1], []).append(row)
    found: dict[Value, None] = {}
    start = 0
    while by_next:
        while not rows[start]:
            start += 1
        heads = (row[-1] for row in islice(rows, start, None) if row)
        first = next((each for each in heads if not later[each]), rows[start][-1])
        found[first] = None
        for row in by_next.pop(first):
            _drop_next(row, found, later)
            if row:
                by_next.setdefault(row[-1], []).append(row)
    return list(found)


def _drop_next(row: list[Value], found: Container[Value], later: Counter[Value]) -> None:
    """Take from the end of a row what has its place."""
    while row and row[-1] in found:
        row.pop()
        if row:
            later[row[-1]] -= 1
