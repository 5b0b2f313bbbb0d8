"""From a libcst tree to the summary language, one walk in source order."""

from __future__ import annotations

from tpulint.syntax import ir
from tpulint.syntax.light_nodes import cst
from tpulint.syntax.statements import Statements


def lower(module: cst.Module) -> ir.ModuleSummary:
    """The summary of `module`."""
    return _facts(Statements(), module)


def lower_with_nodes(module: cst.Module) -> tuple[ir.ModuleSummary, dict[int, cst.CSTNode]]:
    """The summary, and the tree's node of each place in it."""
    walk = Statements()
    walk.keep_nodes = True
    return _facts(walk, module), walk.nodes


def _facts(walk: Statements, module: cst.Module) -> ir.ModuleSummary:
    body = walk.block(module.body)
    mentions = sorted(walk.scopes[0].mentions)
    return ir.ModuleSummary(body, walk.functions, walk.classes, mentions, counted(walk))


def counted(walk: Statements) -> list[int]:
    """The places of each kind; where something was left out, counting cannot check them."""
    return [ir.UNCOUNTED] if walk.truncated else walk.counts
