"""From a tree to a module's summary, in one walk in source order."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tpulint.syntax import ir
from tpulint.syntax.light_nodes import cst
from tpulint.syntax.lowering.definitions import Definitions
from tpulint.syntax.lowering.libcst_statements import Statements
from tpulint.syntax.lowering.python_statements import PythonStatements
from tpulint.syntax.nodes import Block


def lower(module: cst.Module) -> ir.ModuleSummary:
    """The summary of `module`."""
    walk = Statements()
    return _facts(walk, walk.block(module.body))


def lower_python(module: ast.Module, left_out: Collection[ast.stmt] = ()) -> ir.ModuleSummary:
    """The summary of `module`; the bodies of the functions `left_out` are passed over."""
    walk = PythonStatements(left_out)
    facts = _facts(walk, walk.block(module.body))
    facts.by_libcst = False
    return facts


def lower_with_nodes(module: cst.Module) -> tuple[ir.ModuleSummary, dict[int, cst.CSTNode]]:
    """The summary, and the tree's node of each place in it."""
    walk = Statements()
    walk.keep_nodes = True
    return _facts(walk, walk.block(module.body)), walk.nodes


def _facts(walk: Definitions, body: Block) -> ir.ModuleSummary:
    mentions = sorted(walk.scopes[0].mentions)
    return ir.ModuleSummary(body, walk.functions, walk.classes, mentions, counted(walk))


def counted(walk: Definitions) -> list[int]:
    """The places of each kind; where something was left out, counting cannot check them."""
    return [ir.UNCOUNTED] if walk.truncated else walk.counts
