"""Expressions of the summary language, each with names for its parts."""

from __future__ import annotations

from typing import TypeAlias

from tpulint.syntax.nodes import Expression, Node, node

Literal: TypeAlias = "str | int | float | bool | None"


@node
class Name(Expression):
    place: int
    id: str


@node
class Attribute(Expression):
    place: int
    base: Expression
    name: str


@node
class CallArgument(Node):
    """One argument of a call; `star` is "", "*" or "**".

    place: the keyword's, else the first in the value; NOWHERE where neither has one.
    """

    keyword: str | None
    star: str
    value: Expression
    place: int


@node
class CallNode(Expression):
    place: int
    callee: Expression
    arguments: list[CallArgument]


@node
class Constant(Expression):
    value: Literal


@node
class Display(Expression):
    """kind: "tuple", "list" or "set"."""

    kind: str
    place: int
    items: list[Expression]


@node
class Starred(Expression):
    value: Expression


@node
class DictItem(Node):
    """`key: value`, or `**value`."""

    key: Expression | None
    value: Expression


@node
class DictDisplay(Expression):
    place: int
    items: list[DictItem]


@node
class Subscript(Expression):
    place: int
    base: Expression
    index: Expression


@node
class Slice(Expression):
    """`bounds` are those that are given."""

    bounds: list[Expression]


@node
class Lambda(Expression):
    place: int
    function: int


@node
class Conditional(Expression):
    place: int
    test: Expression
    body: Expression
    orelse: Expression


@node
class BoolOperation(Expression):
    """op: "and" or "or"."""

    op: str
    items: list[Expression]


@node
class Not(Expression):
    operand: Expression


@node
class Comparison(Node):
    """One operator of a chain, by its name, and what is on its right."""

    op: str
    right: Expression


@node
class Compare(Expression):
    left: Expression
    comparisons: list[Comparison]


@node
class BinaryOperation(Expression):
    op: str
    left: Expression
    right: Expression


@node
class UnaryOperation(Expression):
    op: str
    operand: Expression


@node
class Clause(Node):
    """`for target in iterated if tests` of a comprehension."""

    target: Expression
    iterated: Expression
    tests: list[Expression]


@node
class Comprehension(Expression):
    """kind: "list", "set", "dict" or "generator"; `key` is a dict's."""

    kind: str
    place: int
    key: Expression | None
    element: Expression
    clauses: list[Clause]


@node
class Await(Expression):
    value: Expression


@node
class Yield(Expression):
    place: int
    value: Expression


@node
class YieldFrom(Expression):
    place: int
    value: Expression


@node
class NamedExpression(Expression):
    """`name := value`."""

    name: str
    value: Expression


@node
class FormattedString(Expression):
    """An f-string, or strings side by side; `items` are the expressions in it."""

    items: list[Expression]


@node
class Other(Expression):
    """An expression that is not modelled; `items` are those in it that are."""

    items: list[Expression]


def last_name(of: Expression) -> str:
    """Return the name of a name or an attribute, without what is before its dot; else ""."""
    if isinstance(of, Attribute):
        return of.name
    return of.id if isinstance(of, Name) else ""


def dotted_path(of: Node) -> str:
    """Return `self.active` of a name, an attribute or a getattr of such; else ""."""
    match of:
        case Name(id=name):
            return name
        case Attribute(base=base, name=name):
            path = dotted_path(base)
            return f"{path}.{name}" if path else ""
        case CallNode(callee=Name(id="getattr"), arguments=[holder, CallArgument() as name, *_]):
            path = dotted_path(holder.value)
            if path and isinstance(name.value, Constant):
                return f"{path}.{name.value.value}"
    return ""
