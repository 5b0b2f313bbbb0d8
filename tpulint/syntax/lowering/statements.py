"""Statements in the summary language, one method per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tpulint.syntax import ir, nodes
from tpulint.syntax.lowering.definitions import MAX_DEPTH, StatementMethod
from tpulint.syntax.lowering.expressions import OPERATORS, Expressions


class Statements(Expressions):
    """One method per kind of statement; `block` chooses.

    left_out: functions whose bodies are passed over; `unread` has them by index.
    """

    def __init__(self, left_out: Collection[ast.stmt] = ()) -> None:
        super().__init__()
        self.left_out = left_out
        self.unread: dict[int, ast.FunctionDef | ast.AsyncFunctionDef] = {}

    def block(self, body: list[ast.stmt]) -> nodes.Block:
        """Return the statements of a suite."""
        self.depth += 1
        lowered: nodes.Block = []
        if self.depth <= MAX_DEPTH:
            for statement in body:
                handler = _HANDLERS.get(type(statement))
                if handler is not None:
                    lowered.append(handler(self, statement))
        self.depth -= 1
        return lowered

    def target(self, node: ast.expr) -> nodes.Expression:
        """Lower an assigned expression; the names in it are bound in this scope."""
        lowered = self.element(node)
        self.bind_all(lowered)
        return lowered

    def assign(self, node: ast.Assign) -> nodes.Statement:
        targets = [self.target(target) for target in node.targets]
        return nodes.Assign(targets, self.expression(node.value))

    def aug_assign(self, node: ast.AugAssign) -> nodes.Statement:
        target = self.target(node.target)
        return nodes.AugmentedAssign(OPERATORS[type(node.op)], target, self.expression(node.value))

    def ann_assign(self, node: ast.AnnAssign) -> nodes.Statement:
        target = self.target(node.target)
        annotation = self.expression(node.annotation)
        return nodes.AnnotatedAssign(target, annotation, self.optional(node.value))

    def optional(self, node: ast.expr | None) -> nodes.Expression | None:
        return None if node is None else self.expression(node)

    def expr(self, node: ast.Expr) -> nodes.Statement:
        return nodes.ExpressionStatement(self.expression(node.value))

    def return_(self, node: ast.Return) -> nodes.Statement:
        return nodes.Return(self.place(node), self.optional(node.value))

    def if_(self, node: ast.If) -> nodes.Statement:
        """Lower an elif chain in a loop: generated code has thousands of them."""
        branches: list[tuple[int, nodes.Expression, nodes.Block]] = []
        current: ast.If | None = node
        while current is not None:
            place = self.place(current)
            test = self.expression(current.test)
            branches.append((place, test, self.block(current.body)))
            rest = current.orelse
            current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        return self.chained(branches, self.orelse(rest))

    def orelse(self, body: list[ast.stmt]) -> nodes.Block:
        return self.block(body) if body else []

    def for_(self, node: ast.For | ast.AsyncFor) -> nodes.Statement:
        place = self.place(node)
        target = self.target(node.target)
        iterated = self.expression(node.iter)
        body = self.block(node.body)
        return nodes.For(place, target, iterated, body, self.orelse(node.orelse))

    def while_(self, node: ast.While) -> nodes.Statement:
        place = self.place(node)
        test = self.expression(node.test)
        body = self.block(node.body)
        return nodes.While(place, test, body, self.orelse(node.orelse))

    def with_(self, node: ast.With | ast.AsyncWith) -> nodes.Statement:
        place = self.place(node)
        items = []
        for item in node.items:
            managed = self.expression(item.context_expr)
            target = self.target(item.optional_vars) if item.optional_vars else None
            items.append(nodes.WithItem(managed, target))
        return nodes.With(place, items, self.block(node.body))

    def try_(self, node: ast.Try) -> nodes.Statement:
        """`try`, also with `except*`, whose node has the same parts."""
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            caught = self.optional(handler.type)
            if handler.name is not None:
                self.bind(handler.name)
            handlers.append(nodes.Handler(caught, handler.name, self.block(handler.body)))
        return nodes.Try(body, handlers, self.orelse(node.orelse), self.orelse(node.finalbody))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> nodes.Statement:
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
        return nodes.Define(function.index)

    def class_(self, node: ast.ClassDef) -> nodes.Statement:
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
        return nodes.DefineClass(code.index)

    def import_(self, node: ast.Import) -> nodes.Statement:
        names = []
        for alias in node.names:
            parts = alias.name.split(".")
            self.bind(alias.asname or parts[0])
            self.scopes[-1].mentions.update(parts)
            names.append(nodes.Alias(alias.name, alias.asname))
        return nodes.Import(names)

    def from_(self, node: ast.ImportFrom) -> nodes.Statement:
        module, level = node.module or "", node.level or 0
        self.scopes[-1].mentions.update(module.split("."))
        names = []
        for alias in node.names:
            if alias.name == "*":
                return nodes.ImportFrom(module, level, None)
            self.bind(alias.asname or alias.name)
            self.mention(alias.name)
            names.append(nodes.Alias(alias.name, alias.asname))
        return nodes.ImportFrom(module, level, names)

    def scoping(self, node: ast.Global | ast.Nonlocal) -> nodes.Statement:
        self.scopes[-1].outer.update(node.names)
        return nodes.Scoping(node.names)

    def del_(self, node: ast.Delete) -> nodes.Statement:
        return nodes.Delete([self.target(target) for target in node.targets])

    def raise_(self, node: ast.Raise) -> nodes.Statement:
        return nodes.Raise([self.expression(part) for part in (node.exc, node.cause) if part])

    def assert_(self, node: ast.Assert) -> nodes.Statement:
        return nodes.Assert([self.expression(part) for part in (node.test, node.msg) if part])

    def pass_(self, node: ast.Pass) -> nodes.Statement:
        return nodes.Pass()

    def jump(self, node: ast.Break | ast.Continue) -> nodes.Statement:
        return nodes.Jump("break" if isinstance(node, ast.Break) else "continue")

    def match(self, node: ast.Match) -> nodes.Statement:
        """Patterns are not modelled: their names become unknown, their bodies are walked."""
        subject = self.expression(node.subject)
        cases = [
            nodes.Case(self.optional(case.guard), self.block(case.body)) for case in node.cases
        ]
        return nodes.Match(subject, cases)


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
