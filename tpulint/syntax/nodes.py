"""The summary language: what is kept of a module's expressions and statements.

`place` is an ordinal that `positions` turns into rows and columns only when they are asked for:
positions cost more than the rest of the tree. What has none of its own has that of its first part.
`function` and `class_` are indexes in the module's lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

T = TypeVar("T")
NOWHERE = -1  # the place of what has none
# The types of fields that hold no node.
PLAIN = frozenset(["int", "str", "str | None", "Literal", "list[str]"])

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def node(cls: type[T]) -> type[T]:
        """Make a frozen class with slots: mypy checks that no node is changed."""
        return cls
else:

    def node(cls):
        # Objects of classes that are frozen at run time, too, take three times as long to make.
        with_slots = dataclass(slots=True)(cls)
        own = [name for name, kind in cls.__annotations__.items() if kind not in PLAIN]
        with_slots.node_fields = (*cls.node_fields, *own)
        return with_slots


class Node:
    """A part of a summary; `node_fields` are those that hold nodes, or lists of nodes."""

    __slots__: tuple[str, ...] = ()
    node_fields: ClassVar[tuple[str, ...]] = ()


class Expression(Node):
    __slots__ = ()


@node
class PlacedExpression(Expression):
    """An expression that has a place of its own."""

    place: int


class Statement(Node):
    __slots__ = ()


Block: TypeAlias = list[Statement]


def parts(of: Node) -> Iterator[Node]:
    """Yield the nodes directly in a node, in source order of its fields."""
    for name in of.node_fields:
        value = getattr(of, name)
        if type(value) is list:
            yield from value
        elif value is not None:
            yield value


def walk(*roots: Node) -> Iterator[Node]:
    """Yield the nodes and all that is in them, outermost first, in source order."""
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        for name in node.node_fields[::-1]:
            value = getattr(node, name)
            if type(value) is list:
                stack += value[::-1]
            elif value is not None:
                stack.append(value)


Literal: TypeAlias = "str | int | float | bool | None"


@node
class Name(PlacedExpression):
    id: str


@node
class Attribute(PlacedExpression):
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
class CallNode(PlacedExpression):
    callee: Expression
    arguments: list[CallArgument]


@node
class Constant(Expression):
    value: Literal


@node
class Display(PlacedExpression):
    """kind: "tuple", "list" or "set"."""

    kind: str
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
class DictDisplay(PlacedExpression):
    items: list[DictItem]


@node
class Subscript(PlacedExpression):
    base: Expression
    index: Expression


@node
class Slice(Expression):
    """`bounds` are those that are given; `names` says which: lower, upper or step."""

    bounds: list[Expression]
    names: list[str]


@node
class Lambda(PlacedExpression):
    function: int


@node
class Conditional(PlacedExpression):
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
class Yield(PlacedExpression):
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
    """An f-string, or strings side by side; `items` are its text and the expressions in it."""

    items: list[Expression]


@node
class FormattedValue(Expression):
    """`{value:.3f}` in an f-string: what is given a format beside its text."""

    place: int
    value: Expression


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


IDENTITY = ("Is", "IsNot")
# What comparisons with None, or with the keys of what there is, give the first time.
FIRST_TIME = {"Is": True, "NotIn": True, "IsNot": False, "In": False}


def guards_creation(test: Expression, answer: bool | None = None) -> bool:
    """Return whether a test is true the first time only, as those around lazily made state are.

    answer: only whether this answer is the first time's; `is not None` is false then.
    """
    match test:
        case Not(operand=operand):
            if isinstance(operand, Attribute):
                return answer is not False
            return guards_creation(operand, None if answer is None else not answer)
        case BoolOperation(items=items):
            return any(guards_creation(item, answer) for item in items)
        case Compare(comparisons=comparisons):
            return any(
                comparison.op in FIRST_TIME
                and answer in (None, FIRST_TIME[comparison.op])
                # `"train" in self.run_mode` is true each time.
                and (
                    comparison.op in IDENTITY
                    or not last_name(comparison.right).lower().endswith("mode")
                )
                for comparison in comparisons
            )
        case CallNode(callee=Name(id=name)):
            return name in ("hasattr", "getattr") and answer is not True
    return False


@node
class Assign(Statement):
    targets: list[Expression]
    value: Expression


@node
class AugmentedAssign(Statement):
    op: str
    target: Expression
    value: Expression


@node
class AnnotatedAssign(Statement):
    target: Expression
    annotation: Expression
    value: Expression | None


@node
class ExpressionStatement(Statement):
    value: Expression


@node
class Return(Statement):
    place: int
    value: Expression | None


@node
class If(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


@node
class For(Statement):
    place: int
    target: Expression
    iterated: Expression
    body: Block
    orelse: Block


@node
class While(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


@node
class WithItem(Node):
    manager: Expression
    target: Expression | None


@node
class With(Statement):
    place: int
    items: list[WithItem]
    body: Block


@node
class Handler(Node):
    """`except caught as name:`."""

    caught: Expression | None
    name: str | None
    body: Block


@node
class Try(Statement):
    body: Block
    handlers: list[Handler]
    orelse: Block
    final: Block


@node
class Define(Statement):
    """A `def`."""

    function: int


@node
class DefineClass(Statement):
    class_: int


@node
class Alias(Node):
    name: str
    asname: str | None


@node
class Import(Statement):
    names: list[Alias]


@node
class ImportFrom(Statement):
    """`from module import names`; `names` is None for `*`. level: the dots before `module`."""

    module: str
    level: int
    names: list[Alias] | None


@node
class Delete(Statement):
    targets: list[Expression]


@node
class Raise(Statement):
    items: list[Expression]


@node
class Assert(Statement):
    items: list[Expression]


@node
class Pass(Statement):
    pass


@node
class Jump(Statement):
    """kind: "break" or "continue"."""

    kind: str


@node
class Case(Node):
    """One case of a `match`, its pattern left out."""

    guard: Expression | None
    body: Block


@node
class Match(Statement):
    subject: Expression
    cases: list[Case]


def own_place(of: Node) -> int:
    """Return the place of an expression, NOWHERE where it has none of its own."""
    return of.place if isinstance(of, PlacedExpression) else NOWHERE


def first_place(of: Node) -> int:
    """Return the place of an expression, or of its first part that has one."""
    first = of
    while isinstance(first, (BinaryOperation, Compare)):  # a sum may be long
        first = first.left
    if isinstance(first, PlacedExpression):
        return first.place
    return next((part.place for part in walk(of) if isinstance(part, PlacedExpression)), NOWHERE)


def place_of(statement: Node) -> int:
    """Return the place of a statement, or of its first part that has one."""
    if isinstance(statement, (Return, If, For, While, With)):
        return statement.place
    return first_place(statement)
