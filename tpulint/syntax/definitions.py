"""Names that are bound, and functions and classes that are defined."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tpulint.syntax import ir
from tpulint.syntax.nodes import (
    Attribute,
    Block,
    Constant,
    Display,
    Expression,
    If,
    Name,
    Starred,
    Statement,
    UnaryOperation,
    walk,
)

# The nodes that have a position of their own.
PlacedNode: TypeAlias = "ast.expr | ast.stmt | ast.keyword"

# Deeper expressions and blocks become `other`: no fault of a TPU program hides there,
# and the walk's own recursion stays bounded.
MAX_DEPTH = 120
# Branches of one `if`, each in the `else` of the one before: generated code has thousands.
MAX_ELIFS = 200
# Operators on one another, beyond which a sum is only its operands: generated code has thousands.
MAX_CHAIN = 1_000


@dataclass
class LexicalScope:
    """A module, class or function body that is being walked."""

    kind: str
    index: int | None = None
    mentions: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    generator: bool = False
    self_name: str | None = None


class Walk:
    """The state of one module's walk."""

    def __init__(self) -> None:
        self.positions = array("i")
        self.functions: list[ir.FunctionCode] = []
        self.classes: list[ir.ClassCode] = []
        self.scopes = [LexicalScope("module")]
        self.depth = 0
        self.in_string = 0
        self.piece = 0
        self.row_offset = 0

    def place(self, node: PlacedNode) -> int:
        """Record the position of `node`; -1 in an f-string (wrong there before Python 3.12)."""
        if self.in_string:
            return -1
        place = self.piece * ir.PIECE + len(self.positions)
        offset = self.row_offset
        # The parser gives every node an end.
        end_row, end_column = node.end_lineno or 0, node.end_col_offset or 0
        self.positions.extend((node.lineno - offset, node.col_offset, end_row - offset, end_column))
        return place

    def mention(self, name: str) -> None:
        self.scopes[-1].mentions.add(name)

    def bind(self, name: str) -> None:
        self.scopes[-1].bound.add(name)

    def enclosing(self, kind: str) -> int | None:
        """Return the index of the nearest enclosing scope of `kind`."""
        for scope in reversed(self.scopes):
            if scope.kind == kind:
                return scope.index
        return None

    def leave(self) -> LexicalScope:
        """End the innermost scope; what it mentions, its parent mentions too."""
        scope = self.scopes.pop()
        self.scopes[-1].mentions |= scope.mentions
        return scope


# A method of a walk for one kind of node; each takes a node of its own kind.
ExpressionMethod: TypeAlias = Callable[[Any, Any], Expression]
StatementMethod: TypeAlias = Callable[[Any, Any], Statement]


class Definitions(Walk):
    """The part of a walk that knows no node of the tree."""

    def text(self, value: str) -> Constant:
        """Lower a string; one that reads like a name may be a name, of `getattr` for instance."""
        if value.isidentifier():
            self.mention(value)
        return Constant(value)

    def negated(self, item: Expression) -> Expression:
        """Return `-item`, which is a number where that is one."""
        number = item.value if isinstance(item, Constant) else None
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return Constant(-number)
        return UnaryOperation("Minus", item)

    def chained(self, branches: list[tuple[int, Expression, Block]], orelse: Block) -> Statement:
        """Return an `if` with its branches, each the `else` of the one before.

        Those beyond MAX_ELIFS are tests of their own, one after the other.
        """
        rest = [If(place, test, body, []) for place, test, body in branches[MAX_ELIFS:]]
        orelse = [*rest, *orelse]
        for place, test, body in reversed(branches[:MAX_ELIFS]):
            orelse = [If(place, test, body, orelse)]
        return orelse[0]

    def bind_all(self, target: Expression) -> None:
        """Bind the names in an assigned expression in this scope."""
        match target:
            case Name(id=name):
                self.bind(name)
            case Display(items=items):
                for item in items:
                    self.bind_all(item)
            case Starred(value=inner):
                self.bind_all(inner)
            case Attribute():
                self.note_setter(target)

    def bind_in_comprehension(self, target: Expression) -> None:
        """Bind the names of a comprehension in this scope, and so in no outer one."""
        for node in walk(target):
            if isinstance(node, Name):
                self.bind(node.id)

    def note_setter(self, target: Attribute) -> None:
        """Note `self.a = ...` in a method: the class remembers which method sets `a`."""
        base = target.base.id if isinstance(target.base, Name) else None
        for position in range(len(self.scopes) - 1, 0, -1):
            scope = self.scopes[position]
            if base is None or scope.self_name != base:
                continue
            owner = self.scopes[position - 1]
            assert owner.index is not None
            assert scope.index is not None
            setters = self.classes[owner.index].setters.setdefault(target.name, [])
            if scope.index not in setters:
                setters.append(scope.index)
            return

    def new_function(
        self,
        name: str,
        place: int,
        parameters: ir.Parameters,
        decorators: list[Expression],
        *,
        is_lambda: bool = False,
        is_async: bool = False,
    ) -> ir.FunctionCode:
        """Add a function of this scope, and enter the scope of its body."""
        inside = self.scopes[-1]
        function = ir.FunctionCode(
            name,
            place,
            parameters,
            decorators,
            is_async,
            is_lambda,
            inside.index if inside.kind == "class" else None,
            self.enclosing("function"),
            len(self.functions),
        )
        self.functions.append(function)
        if function.class_index is not None and not is_lambda:
            self.classes[function.class_index].methods.append(function.index)
        self.scopes.append(self.scope_of(function))
        return function

    def scope_of(self, function: ir.FunctionCode) -> LexicalScope:
        """Return the scope of the body of `function`."""
        scope = LexicalScope("function", function.index)
        scope.bound.update(parameter_names(function.parameters))
        if function.class_index is not None and not function.is_lambda:
            first = next(iter(function.parameters.by_position), None)
            scope.self_name = None if first is None else first.name
        return scope

    def finish_function(self, function: ir.FunctionCode, body: Block) -> None:
        """Leave the scope of the function and write down what was seen in it."""
        scope = self.leave()
        names = sorted(scope.bound - scope.outer)
        function.known = ir.FunctionBody(body, sorted(scope.mentions), names, scope.generator)

    def new_class(self, code: ir.ClassCode) -> None:
        """Add a class of this scope, and enter the scope of its body."""
        code.index, code.parent = len(self.classes), self.enclosing("function")
        self.classes.append(code)
        self.scopes.append(LexicalScope("class", code.index))


def parameter_names(parameters: ir.Parameters) -> list[str]:
    starred = [name for name in (parameters.star, parameters.star_star) if name]
    return [parameter.name for parameter in parameters.named] + starred
