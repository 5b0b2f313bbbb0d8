"""The body of one function, read by itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from tpulint.syntax import ir
from tpulint.syntax.body_ranges import HEADER, outermost
from tpulint.syntax.light_nodes import NotParsed, cst
from tpulint.syntax.lower import counted
from tpulint.syntax.lowering.definitions import Definitions
from tpulint.syntax.lowering.libcst_statements import Statements
from tpulint.syntax.lowering.python_statements import PythonStatements
from tpulint.syntax.lowering.scopes import LexicalScope
from tpulint.syntax.nodes import Block
from tpulint.syntax.parse import may_nest_patterns
from tpulint.syntax.prefilter import names_the_seam
from tpulint.syntax.python_tree import python_tree
from tpulint.syntax.tree import tree_of


def inside(
    facts: ir.ModuleSummary,
    function: ir.FunctionCode,
    text: str,
    body: list[ast.stmt] | None = None,
) -> ir.FunctionBody | None:
    """Return the inside of `function`, of the module `facts`, with `text` for its body.

    It is walked as if the module's walk had just come to it; what it defines is added to
    `facts`. None where libcst does not take what CPython took. `body` is CPython's tree, where
    it is known.
    """
    by_libcst = names_the_seam(text) and not may_nest_patterns(text)
    try:
        walk, lowered = _of_libcst(text) if by_libcst else _of_python(text, body)
    except NotParsed:
        return None
    facts.by_libcst = facts.by_libcst or by_libcst
    walk.functions, walk.classes = facts.functions, facts.classes
    walk.piece = function.index + 1
    walk.counts[ir.FUNCTION] = 1  # the header's
    walk.depth = 1
    if function.class_index is not None:
        walk.scopes.append(LexicalScope("class", function.class_index))
    walk.scopes.append(walk.scope_of(function))
    walk.finish_function(function, lowered())
    assert function.known is not None
    function.known.counts = counted(walk)
    return function.known


def _of_libcst(text: str) -> tuple[Definitions, Callable[[], Block]]:
    """Return a walk of libcst's tree, and what walks the body."""
    (header,) = tree_of(HEADER + text).body
    assert isinstance(header, cst.FunctionDef)
    walk = Statements()
    return walk, partial(walk.suite, header.body)


def _of_python(text: str, body: list[ast.stmt] | None) -> tuple[Definitions, Callable[[], Block]]:
    """Return a walk of CPython's tree, and what walks the body."""
    if body is None:
        tree = python_tree(HEADER + text)
        if tree is None:
            raise NotParsed
        (header,) = outermost(tree.body)
        body = header.body
    walk = PythonStatements()
    return walk, partial(walk.block, body)
