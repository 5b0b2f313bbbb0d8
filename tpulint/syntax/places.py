"""The place of a node: its own, or that of the first part that has one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from tpulint.syntax import nodes

NOWHERE = -1
PLACED = frozenset(
    (
        nodes.Name,
        nodes.Attribute,
        nodes.CallNode,
        nodes.Display,
        nodes.DictDisplay,
        nodes.Subscript,
        nodes.Lambda,
        nodes.Conditional,
        nodes.Yield,
    )
)
_place: Callable[[nodes.Node], int] = attrgetter("place")


def own_place(of: nodes.Node) -> int:
    """Return the place of an expression, NOWHERE where it has none of its own."""
    return _place(of) if type(of) in PLACED else NOWHERE


def first_place(of: nodes.Node) -> int:
    """Return the place of an expression, or of its first part that has one."""
    kind = type(of)
    if kind in PLACED:
        return _place(of)
    if kind is nodes.Constant:
        return NOWHERE
    first = of
    while isinstance(
        first, (nodes.BinaryOperation, nodes.Compare)
    ):  # most of the rest; a sum may be long
        first = first.left
    if type(first) in PLACED:
        return _place(first)
    around = [nodes.parts(of)]
    while around:
        part = next(around[-1], None)
        if part is None:
            around.pop()
        elif type(part) in PLACED:
            return _place(part)
        else:
            around.append(nodes.parts(part))
    return NOWHERE


def place_of(statement: nodes.Node) -> int:
    """Return the place of a statement, or of its first part that has one."""
    if isinstance(statement, (nodes.Return, nodes.If, nodes.For, nodes.While, nodes.With)):
        return statement.place
    return first_place(statement)
