"""Statements in the summary language, one method per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tpulint.syntax import ir
from tpulint.syntax.lowering.definitions import MAX_DEPTH, StatementMethod
from tpulint.syntax.lowering.expressions import OPERATORS, Expressions
from tpulint.syntax.nodes import (
    Alias,
    AnnotatedAssign,
    Assert,
    Assign,
    AugmentedAssign,
    Block,
    Case,
    Define,
    DefineClass,
    Delete,
    Expression,
    ExpressionStatement,
    For,
    Handler,
    Import,
    ImportFrom,
    Jump,
    Match,
    Pass,
    Raise,
    Return,
    Scoping,
    Statement,
    Try,
    While,
    With,
    WithItem,
)


class Statements(Expressions):
    """One method per kind of statement; `block` chooses.

    left_out: functions whose bodies are passed over; `unread` has them by index.
    """

    def __init__(self, left_out: Collection[ast.stmt] = ()) -> None:
        super().__init__()
        self.left_out = left_out
        self.unread: dict[int, ast.FunctionDef | ast.AsyncFunctionDef] = {}

    def block(self, body: list[ast.stmt]) -> Block:
        """Return the statements of a suite."""
        self.depth += 1
        lowered: Block = []
        if self.depth <= MAX_DEPTH:
            for statement in body:
                handler = _HANDLERS.get(type(statement))
                if handler is not None:
                    lowered.append(handler(self, statement))
        self.depth -= 1
        return lowered

    def target(self, node: ast.expr) -> Expression:
        """Lower an assigned expression; the names in it are bound in this scope."""
        lowered = self.element(node)
        self.bind_all(lowered)
        return lowered

    def assign(self, node: ast.Assign) -> Statement:
        targets = [self.target(target) for target in node.targets]
        return Assign(targets, self.expression(node.value))

    def aug_assign(self, node: ast.AugAssign) -> Statement:
        target = self.target(node.target)
        return AugmentedAssign(OPERATORS[type(node.op)], target, self.expression(node.value))

    def ann_assign(self, node: ast.AnnAssign) -> Statement:
        target = self.target(node.target)
        annotation = self.expression(node.annotation)
        return AnnotatedAssign(target, annotation, self.optional(node.value))

    def optional(self, node: ast.expr | None) -> Expression | None:
        return None if node is None else self.expression(node)

    def expr(self, node: ast.Expr) -> Statement:
        return ExpressionStatement(self.expression(node.value))

    def return_(self, node: ast.Return) -> Statement:
        return Return(self.place(node), self.optional(node.value))

    def if_(self, node: ast.If) -> Statement:
        """Lower an elif chain in a loop: generated code has thousands of them."""
        branches: list[tuple[int, Expression, Block]] = []
        current: ast.If | None = node
        while current is not None:
            place = self.place(current)
            test = self.expression(current.test)
            branches.append((place, test, self.block(current.body)))
            rest = current.orelse
            current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        return self.chained(branches, self.orelse(rest))

    def orelse(self, body: list[ast.stmt]) -> Block:
        return self.block(body) if body else []

    def for_(self, node: ast.For | ast.AsyncFor) -> Statement:
        place = self.place(node)
        target = self.target(node.target)
        iterated = self.expression(node.iter)
        body = self.block(node.body)
        return For(place, target, iterated, body, self.orelse(node.orelse))

    def while_(self, node: ast.While) -> Statement:
        place = self.place(node)
        test = self.expression(node.test)
        body = self.block(node.body)
        return While(place, test, body, self.orelse(node.orelse))

    def with_(self, node: ast.With | ast.AsyncWith) -> Statement:
        place = self.place(node)
        items = []
        for item in node.items:
            managed = self.expression(item.context_expr)
            target = self.target(item.optional_vars) if item.optional_vars else None
            items.append(WithItem(managed, target))
        return With(place, items, self.block(node.body))

    def try_(self, node: ast.Try) -> Statement:
        """`try`, also with `except*`, whose node has the same parts."""
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            caught = self.optional(handler.type)
            if handler.name is not None:
                self.bind(handler.name)
            handlers.append(Handler(caught, handler.name, self.block(handler.body)))
        return Try(body, handlers, self.orelse(node.orelse), self.orelse(node.finalbody))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Statement:
        decorators = [self.expression(decorator) for decorator in node.decorator_list]
        place = self.place(node)
        self.bind(node.name)
        parameters = self.parameters(node.args)
        self.optional(node.returns)
        is_async = isinstance(node, ast.AsyncFunctionDef)
        function = self.new_function(node.name, place, parameters, decorators, is_async=is_async)
        is_unread = node in self.left_out
        self.finish_function(function, [] if is_unread else self.block(node.body))
        if is_unread:
            self.unread[function.index] = node
        return Define(function.index)

    def class_(self, node: ast.ClassDef) -> Statement:
        decorators = [self.expression(decorator) for decorator in node.decorator_list]
        place = self.place(node)
        self.bind(node.name)
        bases = [
            self.expression(base.value if isinstance(base, ast.Starred) else base)
            for base in node.bases
        ]
        keywords = self.arguments([], node.keywords)
        code = ir.ClassCode(node.name, place, bases, keywords, decorators)
        self.new_class(code)
        code.body = self.block(node.body)
        self.leave()
        return DefineClass(code.index)

    def import_(self, node: ast.Import) -> Statement:
        names = []
        for alias in node.names:
            parts = alias.name.split(".")
            self.bind(alias.asname or parts[0])
            self.scopes[-1].mentions.update(parts)
            names.append(Alias(alias.name, alias.asname))
        return Import(names)

    def from_(self, node: ast.ImportFrom) -> Statement:
        module, level = node.module or "", node.level or 0
        self.scopes[-1].mentions.update(module.split("."))
        names = []
        for alias in node.names:
            if alias.name == "*":
                return ImportFrom(module, level, None)
            self.bind(alias.asname or alias.name)
            self.mention(alias.name)
            names.append(Alias(alias.name, alias.asname))
        return ImportFrom(module, level, names)

    def scoping(self, node: ast.Global | ast.Nonlocal) -> Statement:
        self.scopes[-1].outer.update(node.names)
        return Scoping(node.names)

    def del_(self, node: ast.Delete) -> Statement:
        return Delete([self.target(target) for target in node.targets])

    def raise_(self, node: ast.Raise) -> Statement:
        return Raise([self.expression(part) for part in (node.exc, node.cause) if part])

    def assert_(self, node: ast.Assert) -> Statement:
        return Assert([self.expression(part) for part in (node.test, node.msg) if part])

    def pass_(self, node: ast.Pass) -> Statement:
        return Pass()

    def jump(self, node: ast.Break | ast.Continue) -> Statement:
        return Jump("break" if isinstance(node, ast.Break) else "continue")

    def match(self, node: ast.Match) -> Statement:
        """Patterns are not modelled: their names become unknown, their bodies are walked."""
        subject = self.expression(node.subject)
        cases = [Case(self.optional(case.guard), self.block(case.body)) for case in node.cases]
        return Match(subject, cases)


_HANDLERS: dict[type | None, StatementMethod] = {
    ast.Assign: Statements.assign,
    ast.AugAssign: Statements.aug_assign,
    ast.AnnAssign: Statements.ann_assign,
    ast.Expr: Statements.expr,
    ast.Return: Statements.return_,
    ast.If: Statements.if_,
    ast.For: Statements.for_,
    ast.AsyncFor: Statements.for_,
    ast.While: Statements.while_,
    ast.With: Statements.with_,
    ast.AsyncWith: Statements.with_,
    ast.Try: Statements.try_,
    getattr(ast, "TryStar", None): Statements.try_,  # from Python 3.11 on
    ast.FunctionDef: Statements.function,
    ast.AsyncFunctionDef: Statements.function,
    ast.ClassDef: Statements.class_,
    ast.Import: Statements.import_,
    ast.ImportFrom: Statements.from_,
    ast.Global: Statements.scoping,
    ast.Nonlocal: Statements.scoping,
    ast.Delete: Statements.del_,
    ast.Raise: Statements.raise_,
    ast.Assert: Statements.assert_,
    ast.Pass: Statements.pass_,
    ast.Break: Statements.jump,
    ast.Continue: Statements.jump,
    ast.Match: Statements.match,
}
