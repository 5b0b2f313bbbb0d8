"""The place of a node: its own, or that of the first part that has one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from tpulint.syntax.nodes import (
    Attribute,
    BinaryOperation,
    CallNode,
    Compare,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    For,
    If,
    Lambda,
    Name,
    Node,
    Return,
    Subscript,
    While,
    With,
    Yield,
    parts,
)

NOWHERE = -1
PLACED = frozenset(
    (Name, Attribute, CallNode, Display, DictDisplay, Subscript, Lambda, Conditional, Yield)
)
_place: Callable[[Node], int] = attrgetter("place")


def own_place(of: Node) -> int:
    """Return the place of an expression, NOWHERE where it has none of its own."""
    return _place(of) if type(of) in PLACED else NOWHERE


def first_place(of: Node) -> int:
    """Return the place of an expression, or of its first part that has one."""
    kind = type(of)
    if kind in PLACED:
        return _place(of)
    if kind is Constant:
        return NOWHERE
    first = of
    while isinstance(first, (BinaryOperation, Compare)):  # most of the rest; a sum may be long
        first = first.left
    if type(first) in PLACED:
        return _place(first)
    around = [parts(of)]
    while around:
        part = next(around[-1], None)
        if part is None:
            around.pop()
        elif type(part) in PLACED:
            return _place(part)
        else:
            around.append(parts(part))
    return NOWHERE


def place_of(statement: Node) -> int:
    """Return the place of a statement, or of its first part that has one."""
    if isinstance(statement, (Return, If, For, While, With)):
        return statement.place
    return first_place(statement)
