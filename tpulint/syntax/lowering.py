"""From CPython's tree to the summary language, in one walk: one method per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Collection
from operator import attrgetter

from tpulint.syntax import ir, nodes
from tpulint.syntax.definitions import (
    MAX_CHAIN,
    MAX_DEPTH,
    Definitions,
    ExpressionMethod,
    StatementMethod,
)
from tpulint.syntax.nodes import NOWHERE, first_place

_start = attrgetter("lineno", "col_offset")


class Expressions(Definitions):
    """One method per kind of expression; `expression` chooses."""

    def expression(self, node: ast.expr) -> nodes.Expression:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            return nodes.Other([])
        if self.depth >= MAX_DEPTH:
            return nodes.Other([])
        self.depth += 1
        lowered = handler(self, node)
        self.depth -= 1
        return lowered

    def name(self, node: ast.Name) -> nodes.Expression:
        self.mention(node.id)
        return nodes.Name(self.place(node), node.id)

    def constant(self, node: ast.Constant) -> nodes.Expression:
        value = node.value
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            self.mention(str(value))
            return nodes.Constant(value)
        return nodes.Constant(value) if isinstance(value, (int, float)) else nodes.Other([])

    def attribute(self, node: ast.Attribute) -> nodes.Expression:
        place = self.place(node)
        self.mention(node.attr)
        return nodes.Attribute(place, self.expression(node.value), node.attr)

    def call(self, node: ast.Call) -> nodes.Expression:
        place = self.place(node)
        callee = self.expression(node.func)
        return nodes.CallNode(place, callee, self.arguments(node.args, node.keywords))

    def arguments(
        self, by_position: list[ast.expr], named: list[ast.keyword]
    ) -> list[nodes.CallArgument]:
        """Return the arguments in source order: `f(a=1, *b)` has the one by position last."""
        lowered = []
        arguments: list[ast.expr | ast.keyword] = [*by_position, *named]
        if by_position and named and isinstance(by_position[-1], ast.Starred):
            arguments.sort(key=_start)
        for argument in arguments:
            place, keyword, star = NOWHERE, None, ""
            if isinstance(argument, ast.keyword):
                place = self.place(argument)
                keyword = argument.arg
                if keyword is None:
                    star = "**"
                else:
                    self.mention(keyword)
                argument = argument.value
            elif isinstance(argument, ast.Starred):
                star, argument = "*", argument.value
            value = self.expression(argument)
            place = first_place(value) if place == NOWHERE else place
            lowered.append(nodes.CallArgument(keyword, star, value, place))
        return lowered

    def formatted(self, node: ast.JoinedStr) -> nodes.Expression:
        place = self.place(node)
        self.in_string += 1
        items = [
            self.formatted_value(part, place)
            if isinstance(part, ast.FormattedValue)
            else nodes.Constant(str(part.value))
            for part in node.values
            if isinstance(part, (ast.FormattedValue, ast.Constant))
        ]
        self.in_string -= 1
        return nodes.FormattedString(items)

    def formatted_value(self, node: ast.FormattedValue, place: int) -> nodes.Expression:
        value = self.expression(node.value)
        if node.format_spec is None or node.conversion != -1:
            return value
        return nodes.FormattedValue(place, value)

    def display(self, node: ast.Tuple | ast.List | ast.Set) -> nodes.Expression:
        place = self.place(node)
        return nodes.Display(
            _DISPLAYS[type(node)], place, [self.element(item) for item in node.elts]
        )

    def element(self, item: ast.expr) -> nodes.Expression:
        if isinstance(item, ast.Starred):
            return nodes.Starred(self.expression(item.value))
        return self.expression(item)

    def dictionary(self, node: ast.Dict) -> nodes.Expression:
        place = self.place(node)
        items = []
        for key_node, value in zip(node.keys, node.values, strict=True):
            key = None if key_node is None else self.expression(key_node)
            items.append(nodes.DictItem(key, self.expression(value)))
        return nodes.DictDisplay(place, items)

    def subscript(self, node: ast.Subscript) -> nodes.Expression:
        place = self.place(node)
        base = self.expression(node.value)
        return nodes.Subscript(place, base, self.expression(node.slice))

    def slice(self, node: ast.Slice) -> nodes.Expression:
        bounds = {"lower": node.lower, "upper": node.upper, "step": node.step}
        present = {name: bound for name, bound in bounds.items() if bound is not None}
        return nodes.Slice([self.expression(bound) for bound in present.values()], [*present])

    def lambda_(self, node: ast.Lambda) -> nodes.Expression:
        place = self.place(node)
        parameters = self.parameters(node.args)
        function = self.new_function("<lambda>", place, parameters, [], is_lambda=True)
        self.finish_function(function, [nodes.Return(NOWHERE, self.expression(node.body))])
        return nodes.Lambda(place, function.index)

    def parameters(self, node: ast.arguments) -> ir.Parameters:
        by_position = [*node.posonlyargs, *node.args]
        without = len(by_position) - len(node.defaults)
        defaults = [*[None] * without, *node.defaults]
        by_order = [self.parameter(*row) for row in zip(by_position, defaults, strict=True)]
        star = self.parameter(node.vararg).name if node.vararg else None
        keyword_only = [
            self.parameter(*row) for row in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        star_star = self.parameter(node.kwarg).name if node.kwarg else None
        first = len(node.posonlyargs)
        return ir.Parameters(by_order[:first], by_order[first:], star, keyword_only, star_star)

    def parameter(self, node: ast.arg, default: ast.expr | None = None) -> ir.Parameter:
        if node.annotation is not None:
            self.expression(node.annotation)
        return ir.Parameter(node.arg, None if default is None else self.expression(default))

    def conditional(self, node: ast.IfExp) -> nodes.Expression:
        place = self.place(node)
        body = self.expression(node.body)
        test = self.expression(node.test)
        return nodes.Conditional(place, test, body, self.expression(node.orelse))

    def boolean(self, node: ast.BoolOp) -> nodes.Expression:
        """Lower `(a and b) and c` as one operation of three."""
        op = "and" if isinstance(node.op, ast.And) else "or"
        later: list[ast.expr] = []
        first: ast.expr = node
        while isinstance(first, ast.BoolOp) and type(first.op) is type(node.op):
            later[:0] = first.values[1:]
            first = first.values[0]
        return nodes.BoolOperation(op, [self.expression(item) for item in [first, *later]])

    def binary(self, node: ast.BinOp) -> nodes.Expression:
        """Lower a left-leaning chain without recursion, so that long sums do not nest."""
        chain: list[ast.BinOp] = []
        rest: ast.expr = node
        while isinstance(rest, ast.BinOp):
            chain.append(rest)
            rest = rest.left
        left = self.expression(rest)
        if len(chain) > MAX_CHAIN:
            return nodes.Other([left, *(self.expression(link.right) for link in reversed(chain))])
        for link in reversed(chain):
            left = nodes.BinaryOperation(
                OPERATORS[type(link.op)], left, self.expression(link.right)
            )
        return left

    def unary(self, node: ast.UnaryOp) -> nodes.Expression:
        item = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return nodes.Not(item)
        if isinstance(node.op, ast.USub):
            return self.negated(item)
        return nodes.UnaryOperation(OPERATORS[type(node.op)], item)

    def comparison(self, node: ast.Compare) -> nodes.Expression:
        left = self.expression(node.left)
        comparisons = [
            nodes.Comparison(OPERATORS[type(op)], self.expression(right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        return nodes.Compare(left, comparisons)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> nodes.Expression:
        place = self.place(node)
        if isinstance(node, ast.DictComp):
            key: nodes.Expression | None = self.expression(node.key)
            element = self.expression(node.value)
        else:
            key, element = None, self.expression(node.elt)
        clauses = []
        for generator in node.generators:
            target = self.expression(generator.target)
            self.bind_in_comprehension(target)
            iterated = self.expression(generator.iter)
            clauses.append(
                nodes.Clause(target, iterated, [self.expression(test) for test in generator.ifs])
            )
        return nodes.Comprehension(_COMPREHENSIONS[type(node)], place, key, element, clauses)

    def await_(self, node: ast.Await) -> nodes.Expression:
        return nodes.Await(self.expression(node.value))

    def yield_(self, node: ast.Yield) -> nodes.Expression:
        self.scopes[-1].generator = True
        place = self.place(node)
        return nodes.Yield(
            place, nodes.Constant(None) if node.value is None else self.expression(node.value)
        )

    def yield_from(self, node: ast.YieldFrom) -> nodes.Expression:
        self.scopes[-1].generator = True
        return nodes.YieldFrom(self.place(node), self.expression(node.value))

    def walrus(self, node: ast.NamedExpr) -> nodes.Expression:
        self.expression(node.target)
        value = self.expression(node.value)
        self.bind(node.target.id)
        return nodes.NamedExpression(node.target.id, value)


OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "Add",
    ast.Sub: "Subtract",
    ast.Mult: "Multiply",
    ast.MatMult: "MatrixMultiply",
    ast.Div: "Divide",
    ast.FloorDiv: "FloorDivide",
    ast.Mod: "Modulo",
    ast.Pow: "Power",
    ast.LShift: "LeftShift",
    ast.RShift: "RightShift",
    ast.BitOr: "BitOr",
    ast.BitXor: "BitXor",
    ast.BitAnd: "BitAnd",
    ast.UAdd: "Plus",
    ast.USub: "Minus",
    ast.Invert: "BitInvert",
    ast.Eq: "Equal",
    ast.NotEq: "NotEqual",
    ast.Lt: "LessThan",
    ast.LtE: "LessThanEqual",
    ast.Gt: "GreaterThan",
    ast.GtE: "GreaterThanEqual",
    ast.Is: "Is",
    ast.IsNot: "IsNot",
    ast.In: "In",
    ast.NotIn: "NotIn",
}
_DISPLAYS: dict[type, str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}
_COMPREHENSIONS: dict[type, str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}
_EXPRESSIONS: dict[type, ExpressionMethod] = {
    ast.Name: Expressions.name,
    ast.Constant: Expressions.constant,
    ast.Attribute: Expressions.attribute,
    ast.Call: Expressions.call,
    ast.JoinedStr: Expressions.formatted,
    ast.Tuple: Expressions.display,
    ast.List: Expressions.display,
    ast.Set: Expressions.display,
    ast.Dict: Expressions.dictionary,
    ast.Subscript: Expressions.subscript,
    ast.Slice: Expressions.slice,
    ast.Lambda: Expressions.lambda_,
    ast.IfExp: Expressions.conditional,
    ast.BoolOp: Expressions.boolean,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.Compare: Expressions.comparison,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
    ast.Await: Expressions.await_,
    ast.Yield: Expressions.yield_,
    ast.YieldFrom: Expressions.yield_from,
    ast.NamedExpr: Expressions.walrus,
}


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
                handler = _STATEMENTS.get(type(statement))
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
        """Lower `try`, also with `except*`, whose node has the same parts."""
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


_STATEMENTS: dict[type | None, StatementMethod] = {
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
