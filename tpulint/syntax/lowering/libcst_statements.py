"""Statements of a libcst tree in the summary language."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.syntax import ir
from tpulint.syntax.light_nodes import cst
from tpulint.syntax.lowering.definitions import StatementMethod
from tpulint.syntax.lowering.libcst_expressions import Expressions
from tpulint.syntax.lowering.scopes import DEPTH_LIMIT
from tpulint.syntax.nodes import Block, Expression, Statement
from tpulint.syntax.statement_nodes import (
    Alias,
    AnnotatedAssign,
    Assert,
    Assign,
    AugmentedAssign,
    Case,
    Define,
    DefineClass,
    Delete,
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
    Try,
    While,
    With,
    WithItem,
)


class Statements(Expressions):
    """One method a kind of statement; `block` chooses."""

    def block(self, body: Iterable[cst.CSTNode]) -> Block:
        """The statements of a suite, the small ones of a line one by one."""
        self.depth += 1
        lowered: Block = []
        if self.depth > DEPTH_LIMIT:
            self.truncated = True
        else:
            for statement in body:
                line = statement if isinstance(statement, cst.SimpleStatementLine) else None
                for one in (statement,) if line is None else line.body:
                    handler = _HANDLERS.get(type(one))
                    if handler is not None:
                        lowered.append(handler(self, one))
        self.depth -= 1
        return lowered

    def suite(self, node: cst.BaseSuite) -> Block:
        return self.block(node.body)

    def target(self, node: cst.CSTNode) -> Expression:
        """An assigned expression; the names in it are bound in this scope."""
        lowered = self.expression(node)
        self.bind_all(lowered)
        return lowered

    def assign(self, node: cst.Assign) -> Statement:
        targets = [self.target(each.target) for each in node.targets]
        return Assign(targets, self.expression(node.value))

    def aug_assign(self, node: cst.AugAssign) -> Statement:
        target = self.target(node.target)
        op = type(node.operator).__name__.removesuffix("Assign")
        return AugmentedAssign(op, target, self.expression(node.value))

    def ann_assign(self, node: cst.AnnAssign) -> Statement:
        target = self.target(node.target)
        annotation = self.expression(node.annotation.annotation)
        value = self.expression(node.value) if node.value is not None else None
        return AnnotatedAssign(target, annotation, value)

    def expr(self, node: cst.Expr) -> Statement:
        return ExpressionStatement(self.expression(node.value))

    def return_(self, node: cst.Return) -> Statement:
        place = self.place(ir.RETURN, node)
        return Return(place, None if node.value is None else self.expression(node.value))

    def if_(self, node: cst.If) -> Statement:
        """An elif chain is walked in a loop: generated code has thousands of them."""
        branches: list[tuple[int, Expression, Block]] = []
        current: cst.If | cst.Else | None = node
        while isinstance(current, cst.If):
            place = self.place(ir.IF, current)
            test = self.expression(current.test)
            branches.append((place, test, self.suite(current.body)))
            current = current.orelse
        return self.chained(branches, self.orelse(current))

    def for_(self, node: cst.For) -> Statement:
        place = self.place(ir.FOR, node)
        target = self.target(node.target)
        iterated = self.expression(node.iter)
        body = self.suite(node.body)
        return For(place, target, iterated, body, self.orelse(node.orelse))

    def while_(self, node: cst.While) -> Statement:
        place = self.place(ir.WHILE, node)
        test = self.expression(node.test)
        body = self.suite(node.body)
        return While(place, test, body, self.orelse(node.orelse))

    def orelse(self, node: cst.Else | None) -> Block:
        return [] if node is None else self.suite(node.body)

    def with_(self, node: cst.With) -> Statement:
        place = self.place(ir.WITH, node)
        items = []
        for each in node.items:
            managed = self.expression(each.item)
            target = self.target(each.asname.name) if each.asname else None
            items.append(WithItem(managed, target))
        return With(place, items, self.suite(node.body))

    def try_(self, node: cst.Try | cst.TryStar) -> Statement:
        body = self.suite(node.body)
        handlers = []
        for each in node.handlers:
            caught = self.expression(each.type) if each.type is not None else None
            name = None
            if each.name is not None and isinstance(each.name.name, cst.Name):
                name = each.name.name.value
                self.bind(name)
            handlers.append(Handler(caught, name, self.suite(each.body)))
        orelse = self.orelse(node.orelse)
        final = self.suite(node.finalbody.body) if node.finalbody is not None else []
        return Try(body, handlers, orelse, final)

    def function(self, node: cst.FunctionDef) -> Statement:
        decorators = [self.expression(each.decorator) for each in node.decorators]
        place = self.place(ir.FUNCTION, node)
        self.bind(node.name.value)
        parameters = self.parameters(node.params)
        if node.returns is not None:
            self.expression(node.returns.annotation)
        is_async = node.asynchronous is not None
        made = self.new_function(node.name.value, place, parameters, decorators, is_async=is_async)
        self.finish_function(made, self.suite(node.body))
        return Define(made.index)

    def class_(self, node: cst.ClassDef) -> Statement:
        decorators = [self.expression(each.decorator) for each in node.decorators]
        place = self.place(ir.CLASS, node)
        self.bind(node.name.value)
        bases = [self.expression(arg.value) for arg in node.bases]
        keywords = self.arguments(node.keywords)
        made = ir.ClassCode(node.name.value, place, bases, keywords, decorators)
        self.new_class(made)
        made.body = self.suite(node.body)
        self.leave()
        return DefineClass(made.index)

    def import_(self, node: cst.Import) -> Statement:
        names = []
        for alias in node.names:
            dotted = dotted_name(alias.name)
            asname = _alias(alias)
            self.bind(asname or dotted.split(".")[0])
            self.scopes[-1].mentions.update(dotted.split("."))
            names.append(Alias(dotted, asname))
        return Import(names)

    def from_(self, node: cst.ImportFrom) -> Statement:
        module = dotted_name(node.module) if node.module is not None else ""
        self.scopes[-1].mentions.update(module.split("."))
        level = len(node.relative)
        if isinstance(node.names, cst.ImportStar):
            return ImportFrom(module, level, None)
        names = []
        for alias in node.names:
            name, asname = dotted_name(alias.name), _alias(alias)
            self.bind(asname or name)
            self.mention(name)
            names.append(Alias(name, asname))
        return ImportFrom(module, level, names)

    def global_(self, node: cst.Global) -> Statement:
        names = [each.name.value for each in node.names]
        self.scopes[-1].outer.update(names)
        return Scoping(names)

    def nonlocal_(self, node: cst.Nonlocal) -> Statement:
        names = [each.name.value for each in node.names]
        self.scopes[-1].outer.update(names)
        return Scoping(names)

    def del_(self, node: cst.Del) -> Statement:
        if isinstance(node.target, cst.Tuple) and not node.target.lpar:
            return Delete([self.target(item.value) for item in node.target.elements])
        return Delete([self.target(node.target)])

    def raise_(self, node: cst.Raise) -> Statement:
        items = [] if node.exc is None else [self.expression(node.exc)]
        if node.cause is not None:
            items.append(self.expression(node.cause.item))
        return Raise(items)

    def assert_(self, node: cst.Assert) -> Statement:
        items = [self.expression(node.test)]
        if node.msg is not None:
            items.append(self.expression(node.msg))
        return Assert(items)

    def pass_(self, node: cst.Pass) -> Statement:
        return Pass()

    def jump(self, node: cst.Break | cst.Continue) -> Statement:
        return Jump("break" if isinstance(node, cst.Break) else "continue")

    def match(self, node: cst.Match) -> Statement:
        """Patterns are not modelled: their names become unknown, their bodies are walked."""
        subject = self.expression(node.subject)
        cases = []
        for case in node.cases:
            guard = self.expression(case.guard) if case.guard is not None else None
            cases.append(Case(guard, self.suite(case.body)))
        return Match(subject, cases)


def dotted_name(node: cst.BaseExpression) -> str:
    """`a.b.c` of nested attributes."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(node.value)
    return ".".join(reversed(parts))


def _alias(alias: cst.ImportAlias) -> str | None:
    if alias.asname is None or not isinstance(alias.asname.name, cst.Name):
        return None
    return alias.asname.name.value


_HANDLERS: dict[type, StatementMethod] = {
    cst.Assign: Statements.assign,
    cst.AugAssign: Statements.aug_assign,
    cst.AnnAssign: Statements.ann_assign,
    cst.Expr: Statements.expr,
    cst.Return: Statements.return_,
    cst.If: Statements.if_,
    cst.For: Statements.for_,
    cst.While: Statements.while_,
    cst.With: Statements.with_,
    cst.Try: Statements.try_,
    cst.TryStar: Statements.try_,
    cst.FunctionDef: Statements.function,
    cst.ClassDef: Statements.class_,
    cst.Import: Statements.import_,
    cst.ImportFrom: Statements.from_,
    cst.Global: Statements.global_,
    cst.Nonlocal: Statements.nonlocal_,
    cst.Del: Statements.del_,
    cst.Raise: Statements.raise_,
    cst.Assert: Statements.assert_,
    cst.Pass: Statements.pass_,
    cst.Break: Statements.jump,
    cst.Continue: Statements.jump,
    cst.Match: Statements.match,
}
