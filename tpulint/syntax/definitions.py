"""Names that are bound, and functions and classes that are defined."""

from __future__ import annotations

import ast
from array import array
from dataclasses import dataclass, field
from itertools import pairwise

from tpulint.syntax import ir
from tpulint.syntax.nodes import Attribute, Block, Display, Expression, Name, Starred

# Deeper expressions and blocks become `other`: no fault of a TPU program hides there,
# and the walk's own recursion stays bounded.
MAX_DEPTH = 120


@dataclass
class LexicalScope:
    """A module, class or function body that is being walked."""

    kind: str
    index: int = -1
    mentions: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    generator: bool = False
    self_name: str | None = None


class Definitions:
    """The part of one module's walk that knows no node of the tree."""

    def __init__(self) -> None:
        self.positions = array("i")
        self.functions: list[ir.FunctionCode] = []
        self.classes: list[ir.ClassCode] = []
        self.scopes = [LexicalScope("module")]
        self.depth = 0
        self.in_string = 0
        self.piece = 0
        self.row_offset = 0

    def place(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
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
        return next((scope.index for scope in reversed(self.scopes) if scope.kind == kind), None)

    def leave(self) -> LexicalScope:
        """End the innermost scope; what it mentions, its parent mentions too."""
        scope = self.scopes.pop()
        self.scopes[-1].mentions |= scope.mentions
        return scope

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

    def note_setter(self, target: Attribute) -> None:
        """Note `self.a = ...` in a method: the class remembers which method sets `a`."""
        for scope, around in pairwise(reversed(self.scopes)):
            if isinstance(target.base, Name) and scope.self_name == target.base.id:
                setters = self.classes[around.index].setters.setdefault(target.name, [])
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
        parameters = function.parameters
        scope.bound.update(parameter.name for parameter in parameters.named)
        scope.bound.update(filter(None, [parameters.star, parameters.star_star]))
        if function.class_index is not None and not function.is_lambda:
            scope.self_name = next(iter(parameters.names_by_position), None)
        return scope

    def finish_function(self, function: ir.FunctionCode, body: Block) -> None:
        """Leave the scope of the function and write down what was seen in it."""
        scope = self.leave()
        names = frozenset(scope.bound - scope.outer)
        function.known = ir.FunctionBody(body, sorted(scope.mentions), names, scope.generator)
