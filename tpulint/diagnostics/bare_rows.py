"""Rows on which no rule can report anything, whatever the rest of the program does."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tpulint.source import Source
from tpulint.syntax.parse import try_parse


def are_bare(source: Source, rows: Collection[int]) -> bool:
    """Return whether each of the rows is empty, or only gives a constant to names.

    A finding is reported at a call, a name that is read, an import or a definition; what cannot
    be parsed is not bare.
    """
    tree = try_parse(source.text)
    waiting: list[ast.AST] = [] if tree is None else [tree]
    while waiting:
        node = waiting.pop()
        if is_constant(node):
            continue
        if not own_rows(node).isdisjoint(rows):
            return False
        waiting += ast.iter_child_nodes(node)
    return tree is not None


def own_rows(node: ast.AST) -> set[int]:
    """Return the rows of a node, of a statement with a block its first."""
    first = getattr(node, "lineno", None)
    if first is None:
        return set()
    is_block = isinstance(node, (ast.stmt, ast.excepthandler)) and (
        hasattr(node, "body") or isinstance(node, ast.Match)
    )
    last = first if is_block else getattr(node, "end_lineno", first)
    return set(range(first, last + 1))


def is_constant(node: ast.AST) -> bool:
    """Return whether it is `pass`, a constant, or `name = ... = constant`."""
    if isinstance(node, ast.Assign) and not all(
        isinstance(each, ast.Name) for each in node.targets
    ):
        return False
    is_value = isinstance(node, (ast.Assign, ast.Expr)) and isinstance(node.value, ast.Constant)
    return is_value or isinstance(node, (ast.Pass, ast.Break, ast.Continue))
