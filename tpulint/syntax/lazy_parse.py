"""Modules read from the outside in: what is around the bodies first.

Many functions of a program are never entered. CPython's own parser says that the whole is sound
and where the bodies stand; what is around them is read first, and each body by itself when it is
asked for (see `inside`). What names the seam is read from libcst's tree, with `...` for the bodies;
the rest, which is only followed from there, from CPython's, which is made in a seventh of the time.
"""

from __future__ import annotations

from tpulint.syntax import ir
from tpulint.syntax.body_ranges import body_of, lines_of, outermost, skeleton
from tpulint.syntax.lazy_module import Pieces
from tpulint.syntax.light_nodes import NotParsed
from tpulint.syntax.lower import lower, lower_python
from tpulint.syntax.parse import may_nest_deeply, may_nest_patterns, parse, too_deep
from tpulint.syntax.prefilter import names_the_seam
from tpulint.syntax.python_tree import python_tree
from tpulint.syntax.tree import tree_of


def summarize(text: str) -> ir.ModuleSummary:
    """The summary of `text`, large bodies left for later. Raises `SyntaxProblem`."""
    return outside(text) or lower(parse(text))


def outside(text: str) -> ir.ModuleSummary | None:
    """The summary without its large bodies; None where it is not certain where they are."""
    tree = python_tree(text)
    if tree is None or (may_nest_deeply(text) and too_deep(tree) is not None):
        return None
    lines = lines_of(text)
    cuts = {each: body_of(each, lines) for each in outermost(tree.body)}
    large = {each: cut for each, cut in cuts.items() if cut is not None}
    around = skeleton(lines, [*large.values()])
    by_libcst = names_the_seam(around) and not may_nest_patterns(around)
    try:
        facts = lower(tree_of(around)) if by_libcst else lower_python(tree, large)
    except NotParsed:
        return None
    functions = [each for each in facts.functions if each.parent is None and not each.is_lambda]
    if len(functions) != len(cuts) or facts.counts == [ir.UNCOUNTED]:
        return None
    bodies = {}
    for function, (node, cut) in zip(functions, cuts.items(), strict=True):
        if cut is not None:
            function.rows, function.known = cut, None
            bodies[function.index] = node.body
    facts.pieces = Pieces(text, facts, lines, bodies)
    return facts
