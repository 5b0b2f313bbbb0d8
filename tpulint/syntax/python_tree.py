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
