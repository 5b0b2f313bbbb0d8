"""The summary language: what is kept of a module's expressions and statements.

`place` is an ordinal that `positions` turns into rows and columns only when they are asked for:
positions cost more than the rest of the tree. What has none of its own has that of its first part.
`function` and `class_` are indexes in the module's lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

NOWHERE = -1  # the place of what has none
# The types of fields that hold no node.
PLAIN = frozenset(["int", "str", "str | None", "Literal", "list[str]"])

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    class NodeType(type):
        """The class of nodes, which mypy takes for frozen: it checks that none is changed."""
else:

    class NodeType(type):
        def __new__(mcs, name, bases, namespace):
            kinds = namespace.get("__annotations__", {})  # as text, by `from __future__`
            cls = super().__new__(mcs, name, bases, {**namespace, "__slots__": tuple(kinds)})
            cls.node_fields += tuple(field for field, kind in kinds.items() if kind not in PLAIN)
            # Objects of classes that are frozen at run time, too, take three times as long to make.
            return dataclass(cls)


class Node(metaclass=NodeType):
    """A part of a summary; `node_fields` are those that hold nodes, or lists of nodes.

    What a class annotates are its fields: these two are not.
    """

    __slots__ = tuple[str, ...]()
    node_fields = tuple[str, ...]()


class Expression(Node):
    pass


class PlacedExpression(Expression):
    """An expression that has a place of its own."""

    place: int


class Statement(Node):
    pass


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


class Name(PlacedExpression):
    id: str


class Attribute(PlacedExpression):
    base: Expression
    name: str


class CallArgument(Node):
    """One argument of a call; `star` is "", "*" or "**".

    place: the keyword's, else the first in the value; NOWHERE where neither has one.
    """

    keyword: str | None
    star: str
    value: Expression
    place: int


class CallNode(PlacedExpression):
    callee: Expression
    arguments: list[CallArgument]


class Constant(Expression):
    value: Literal


class Display(PlacedExpression):
    """kind: "tuple", "list" or "set"."""

    kind: str
    items: list[Expression]


class Starred(Expression):
    value: Expression


class DictItem(Node):
    """`key: value`, or `**value`."""

    key: Expression | None
    value: Expression


class DictDisplay(PlacedExpression):
    items: list[DictItem]


class Subscript(PlacedExpression):
    base: Expression
    index: Expression


class Slice(Expression):
    """`bounds` are those that are given; `names` says which: lower, upper or step."""

    bounds: list[Expression]
    names: list[str]


class Lambda(PlacedExpression):
    function: int


class Conditional(PlacedExpression):
    test: Expression
    body: Expression
    orelse: Expression


class BoolOperation(Expression):
    """op: "and" or "or"."""

    op: str
    items: list[Expression]


class Not(Expression):
    operand: Expression


class Comparison(Node):
    """One operator of a chain, by its name, and what is on its right."""

    op: str
    right: Expression


class Compare(Expression):
    left: Expression
    comparisons: list[Comparison]


class BinaryOperation(Expression):
    op: str
    left: Expression
    right: Expression


class UnaryOperation(Expression):
    op: str
    operand: Expression


class Clause(Node):
    """`for target in iterated if tests` of a comprehension."""

    target: Expression
    iterated: Expression
    tests: list[Expression]


class Comprehension(Expression):
    """kind: "list", "set", "dict" or "generator"; `key` is a dict's."""

    kind: str
    place: int
    key: Expression | None
    element: Expression
    clauses: list[Clause]


class Await(Expression):
    value: Expression


class Yield(PlacedExpression):
    value: Expression


class YieldFrom(Expression):
    place: int
    value: Expression


class NamedExpression(Expression):
    """`name := value`."""

    name: str
    value: Expression


class FormattedString(Expression):
    """An f-string, or strings side by side; `items` are its text and the expressions in it."""

    items: list[Expression]


class FormattedValue(Expression):
    """`{value:.3f}` in an f-string: what is given a format beside its text."""

    place: int
    value: Expression


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


class Assign(Statement):
    targets: list[Expression]
    value: Expression


class AugmentedAssign(Statement):
    op: str
    target: Expression
    value: Expression


class AnnotatedAssign(Statement):
    target: Expression
    annotation: Expression
    value: Expression | None


class ExpressionStatement(Statement):
    value: Expression


class Return(Statement):
    place: int
    value: Expression | None


class If(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


class For(Statement):
    place: int
    target: Expression
    iterated: Expression
    body: Block
    orelse: Block


class While(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


class WithItem(Node):
    manager: Expression
    target: Expression | None


class With(Statement):
    place: int
    items: list[WithItem]
    body: Block


class Handler(Node):
    """`except caught as name:`."""

    caught: Expression | None
    name: str | None
    body: Block


class Try(Statement):
    body: Block
    handlers: list[Handler]
    orelse: Block
    final: Block


class Define(Statement):
    """A `def`."""

    function: int


class DefineClass(Statement):
    class_: int


class Alias(Node):
    name: str
    asname: str | None


class Import(Statement):
    names: list[Alias]


class ImportFrom(Statement):
    """`from module import names`; `names` is None for `*`. level: the dots before `module`."""

    module: str
    level: int
    names: list[Alias] | None


class Delete(Statement):
    targets: list[Expression]


class Raise(Statement):
    items: list[Expression]


class Assert(Statement):
    items: list[Expression]


class Pass(Statement):
    pass


class Jump(Statement):
    """kind: "break" or "continue"."""

    kind: str


class Case(Node):
    """One case of a `match`, its pattern left out."""

    guard: Expression | None
    body: Block


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
    if isinstance(of, Constant):  # most of the rest
        return NOWHERE
    return next((part.place for part in walk(of) if isinstance(part, PlacedExpression)), NOWHERE)


def place_of(statement: Node) -> int:
    """Return the place of a statement, or of its first part that has one."""
    if isinstance(statement, (Return, If, For, While, With)):
        return statement.place
    return first_place(statement)
