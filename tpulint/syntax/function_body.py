"""The body of one function, read by itself."""

from __future__ import annotations

from tpulint.syntax import ir
from tpulint.syntax.body_ranges import HEADER
from tpulint.syntax.light_nodes import NotParsed, cst
from tpulint.syntax.lower import counted
from tpulint.syntax.scopes import LexicalScope
from tpulint.syntax.statements import Statements
from tpulint.syntax.tree import tree_of


def inside(facts: ir.ModuleSummary, function: ir.FunctionCode, text: str) -> ir.FunctionBody | None:
    """Return the inside of `function`, of the module `facts`, with `text` for its body.

    It is walked as if the module's walk had just come to it; what it defines is added to
    `facts`. None where libcst does not take what CPython took.
    """
    try:
        (header,) = tree_of(HEADER + text).body
    except NotParsed:
        return None
    assert isinstance(header, cst.FunctionDef)
    walk = Statements()
    walk.functions, walk.classes = facts.functions, facts.classes
    walk.piece = function.index + 1
    walk.counts[ir.FUNCTION] = 1  # the header's
    walk.depth = 1
    if function.class_index is not None:
        walk.scopes.append(LexicalScope("class", function.class_index))
    walk.scopes.append(walk.scope_of(function))
    walk.finish_function(function.index, walk.suite(header.body))
    assert function.known is not None
    function.known.counts = counted(walk)
    return function.known
