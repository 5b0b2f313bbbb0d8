"""The tree of a file by CPython's own parser."""

from __future__ import annotations

import ast
import warnings


def python_tree(text: str) -> ast.Module | None:
    """Return the tree, with no warnings about the linted code; None where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree, those around first, without contexts and operators."""
    found = [tree]
    for node in found:  # it grows meanwhile
        if isinstance(node, (ast.Name, ast.Constant)):  # every other node is one
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST) and each._fields]
            elif isinstance(value, ast.AST) and value._fields:
                found.append(value)
    return found


def blocks(tree: ast.AST) -> list[ast.AST]:
    """Return the statements in a tree with handlers and cases, those around first."""
    found = [tree]
    for node in found:  # it grows meanwhile
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, field, ())
    return found
