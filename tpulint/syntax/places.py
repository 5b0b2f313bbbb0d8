"""Where a node of the summary language stands."""

from __future__ import annotations

from tpulint.syntax import ir


def own_place(node: ir.Node) -> int:
    """Return the place of an expression, -1 where it has none of its own."""
    return int(node[1]) if node[0] in _PLACED else -1


def first_place(node: ir.Node) -> int:
    """The place where an expression stands: its own, or that of its first part that has one."""
    if node[0] in _PLACED:
        return int(node[1])
    stack = [node]
    while stack:
        part = stack.pop()
        if not isinstance(part, list) or not part:
            continue
        if isinstance(part[0], str) and part[0] in _PLACED and isinstance(part[1], int):
            return part[1]
        stack.extend(reversed(part))
    return -1


_PLACED = frozenset(
    ["name", "attr", "call", "tuple", "list", "set", "dict", "sub", "lambda", "ifexp", "yield"]
)


def place_of(statement: ir.Node) -> int:
    """Where a statement stands, by what in it has a place; -1 where nothing has."""
    if statement and statement[0] in ("return", "if", "for", "while", "with"):
        return int(statement[1])
    return first_place(statement) if statement else -1
