"""Compare what a check reports with what the marks of a program expect, place by place."""

from __future__ import annotations

from collections.abc import Iterable, Set

from tests.rules.pages import Expected


def assert_same(found: Iterable[Expected], expected: Iterable[Expected]) -> None:
    """Fail where the findings differ, with expected and found side by side."""
    left, right = set(expected), set(found)
    assert left == right, "\n" + side_by_side(left, right)


def side_by_side(expected: Set[Expected], found: Set[Expected]) -> str:
    """Return a table of one row a place: what is expected there, and what was found."""
    places = sorted({(each.filename, each.row) for each in expected | found})
    rows = [("", "place", "expected", "found")]
    for filename, row in places:
        left = _at(expected, filename, row)
        right = _at(found, filename, row)
        rows.append((" " if left == right else ">", f"{filename}:{row}", left, right))
    widths = [max(len(cells[column]) for cells in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
        for cells in rows
    )


def _at(findings: Set[Expected], filename: str, row: int) -> str:
    here = [each for each in findings if (each.filename, each.row) == (filename, row)]
    return ", ".join(f"{each.code} {each.certainty}" for each in sorted(here)) or "-"
