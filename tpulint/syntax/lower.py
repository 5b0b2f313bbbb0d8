"""From a libcst tree to the summary language, one walk in source order."""

from __future__ import annotations

import libcst

from tpulint.syntax import ir
from tpulint.syntax.statements import Statements

UNCOUNTED = -1


def lower(module: libcst.Module) -> ir.ModuleFacts:
    """The summary of `module`."""
    return _facts(Statements(), module)


def lower_with_nodes(module: libcst.Module) -> tuple[ir.ModuleFacts, dict[int, libcst.CSTNode]]:
    """The summary, and the tree's node of each place in it."""
    walk = Statements()
    walk.keep_nodes = True
    return _facts(walk, module), walk.nodes


def _facts(walk: Statements, module: libcst.Module) -> ir.ModuleFacts:
    body = walk.block(module.body)
    mentions = sorted(walk.scopes[0].mentions)
    # Where something was left out, places cannot be checked by counting.
    counts = [UNCOUNTED] if walk.truncated else walk.counts
    return ir.ModuleFacts(body, walk.functions, walk.classes, mentions, counts)
