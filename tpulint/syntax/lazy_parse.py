"""Modules read from the outside in: what is around the bodies first.

libcst's parse is the expensive part of reading, and many functions of a program are never
entered. CPython's own parser, ten times as fast, says that the whole is sound and where
the bodies stand. What is around them is parsed with `...` in their place, and each body
by itself when it is asked for (see `inside`).
"""

from __future__ import annotations

from tpulint.syntax import ir
from tpulint.syntax.body_ranges import body_of, lines_of, outermost, skeleton
from tpulint.syntax.light_nodes import NotParsed
from tpulint.syntax.lower import lower
from tpulint.syntax.parse import may_nest_deeply, parse, too_deep
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
    cuts = [body_of(each, lines) for each in outermost(tree.body)]
    try:
        facts = lower(tree_of(skeleton(lines, [cut for cut in cuts if cut])))
    except NotParsed:
        return None
    functions = [each for each in facts.functions if each.parent is None and not each.is_lambda]
    if len(functions) != len(cuts) or facts.counts == [ir.UNCOUNTED]:
        return None
    for function, cut in zip(functions, cuts, strict=True):
        if cut is not None:
            function.rows, function.known = cut, None
    return facts
