"""The rows of the bodies in an edited module, whose other rows are as they were."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from tpulint.syntax.body_ranges import HEADER, body_of, lines_of, outermost, skeleton
from tpulint.syntax.ir import Rows
from tpulint.syntax.parse import try_parse

Cuts = list[Rows | None]


class EditedRows(NamedTuple):
    """The rows of the bodies after an edit, and by how much the rows after each body moved."""

    cuts: Cuts
    shifts: list[int]


def edited_rows(cuts: Cuts, old: list[str], new: list[str]) -> EditedRows | None:
    """Return where the bodies are in the rows `new`; None where what is around them has changed.

    cuts: where they are in the rows `old`, None for short ones.
    """
    return _of_one_edit(cuts, old, new) or _of_any_edit(cuts, old, new)


def _of_one_edit(cuts: Cuts, old: list[str], new: list[str]) -> EditedRows | None:
    """Return where the bodies are now; None where the edit is not inside one of them.

    CPython need not read the rest: a body of the same indent that is sound by itself is as sound
    among the same lines.
    """
    start = equal(old, new)
    end = min(equal(reversed(old), reversed(new)), min(len(old), len(new)) - start)
    longer = len(new) - len(old)
    for number, cut in enumerate(cuts):
        if cut is not None and cut[0] - 1 <= start and len(old) - end <= cut[1]:
            inside = new[cut[0] - 1 : cut[1] + longer]
            if not inside or indent_of(inside[0]) != indent_of(old[cut[0] - 1]):
                return None
            found = cut_of("".join(inside), cut[0])
            after = [each and moved(each, longer) for each in cuts[number + 1 :]]
            if found is None:
                return None
            shifts = [0] * number + [longer] * (len(cuts) - number)
            return EditedRows([*cuts[:number], found, *after], shifts)
    return None


def _of_any_edit(cuts: Cuts, old: list[str], new: list[str]) -> EditedRows | None:
    """Return where the bodies are now; None where something else has changed."""
    text = "".join(new)
    tree = try_parse(text)
    if tree is None:
        return None
    found = [body_of(each, new) for each in outermost(tree.body)]
    if [each is None for each in found] != [each is None for each in cuts]:
        return None
    if skeleton(old, [each for each in cuts if each]) != skeleton(
        new, [each for each in found if each]
    ):
        return None
    shifts = [
        after[1] - before[1] if before and after else 0
        for before, after in zip(cuts, found, strict=True)
    ]
    return EditedRows(found, shifts)


def cut_of(body: str, first: int) -> Rows | None:
    """Return the rows of a body that begins at row `first`, None where it is not one, or short."""
    text = HEADER + body
    tree = try_parse(text)
    if tree is None or len(tree.body) != 1:
        return None
    (function,) = outermost(tree.body)
    cut = body_of(function, lines_of(text))
    return cut and moved(cut, first - 2)


def moved(cut: Rows, rows: int) -> Rows:
    first, last, column = cut
    return first + rows, last + rows, column


def equal(one: Iterable[str], other: Iterable[str]) -> int:
    """Return how many lines are equal, until the first that is not."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
