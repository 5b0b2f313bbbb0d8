"""The summary of an edited module, with what is left of the one before.

While a file is edited, one body changes. Where all that is around the bodies is as it was, the
other bodies are not parsed again.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Sequence
from dataclasses import replace

from tpulint.syntax import ir
from tpulint.syntax.body_ranges import lines_of
from tpulint.syntax.edited_rows import edited_rows

LEFT_OVER = 500  # functions of bodies that are gone; then the summary is made from scratch
GONE = -2  # the parent of such a function


def edited(facts: ir.ModuleSummary, before: str, text: str) -> ir.ModuleSummary | None:
    """Return the summary of `text`; None where it has to be made from the beginning.

    `facts` is the summary of `before`, and is no longer to be used.
    """
    functions = [each for each in facts.functions if each.parent is None and not each.is_lambda]
    if sum(each.parent == GONE for each in facts.functions) > LEFT_OVER:
        return None
    old, new = lines_of(before), lines_of(text)
    after = edited_rows([each.rows for each in functions], old, new)
    if after is None:
        return None
    cuts = after.cuts
    bodies = [
        (function.rows, cut, shift)
        for function, cut, shift in zip(functions, cuts, after.shifts, strict=True)
        if function.rows is not None and cut is not None
    ]
    positions = moved_positions(facts.positions, bodies)
    for function, cut in zip(functions, cuts, strict=True):
        if function.rows is not None and cut is not None:
            if old[function.rows[0] - 1 : function.rows[1]] != new[cut[0] - 1 : cut[1]]:
                unread(facts, function)
            function.rows = cut
    return replace(facts, positions=positions, pieces=None)


def moved_positions(
    positions: array[int], bodies: Sequence[tuple[ir.Rows, ir.Rows, int]]
) -> array[int]:
    """Return the `positions` around `bodies`.

    Each body has its rows before and after, and by how much the rows after it moved.
    """
    firsts = [before[0] for before, _, _ in bodies]
    moved = array("i", positions)
    for index in range(0, len(moved), 2):
        row = moved[index]
        number = bisect.bisect_right(firsts, row) - 1
        if number < 0:
            continue
        before, (_, last, end_column), shift = bodies[number]
        if row <= before[1]:  # a function ends where its body does
            moved[index], moved[index + 1] = last, end_column
        else:
            moved[index] += shift
    return moved


def unread(facts: ir.ModuleSummary, function: ir.FunctionCode) -> None:
    """Forget the body of a function, and what it defined."""
    gone = {function.index}
    for each in facts.functions[function.index + 1 :]:  # what is inside comes after
        if each.parent in gone:
            gone.add(each.index)
            each.parent = GONE
            each.known = ir.FunctionBody([], [], [], False)
    for cls in facts.classes:
        for name, setters in cls.setters.items():
            cls.setters[name] = [index for index in setters if index not in gone]
    function.known = None
