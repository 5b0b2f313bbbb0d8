"""Expressions in the summary language, one method per kind of node."""

from __future__ import annotations

import ast
from operator import attrgetter

from tpulint.syntax import ir
from tpulint.syntax.lowering.definitions import (
    MAX_CHAIN,
    MAX_DEPTH,
    Definitions,
    ExpressionMethod,
)
from tpulint.syntax.nodes import (
    Attribute,
    Await,
    BinaryOperation,
    BoolOperation,
    CallArgument,
    CallNode,
    Clause,
    Compare,
    Comparison,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    DictItem,
    Display,
    Expression,
    FormattedString,
    Lambda,
    Name,
    NamedExpression,
    Not,
    Other,
    Return,
    Slice,
    Starred,
    Subscript,
    UnaryOperation,
    Yield,
    YieldFrom,
)
from tpulint.syntax.places import NOWHERE, first_place

_start = attrgetter("lineno", "col_offset")


class Expressions(Definitions):
    """One method per kind of expression; `expression` chooses."""

    def expression(self, node: ast.expr) -> Expression:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return Other([])
        if self.depth >= MAX_DEPTH:
            return Other([])
        self.depth += 1
        lowered = handler(self, node)
        self.depth -= 1
        return lowered

    def name(self, node: ast.Name) -> Expression:
        self.mention(node.id)
        return Name(self.place(node), node.id)

    def constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            self.mention(str(value))
            return Constant(value)
        return Constant(value) if isinstance(value, (int, float)) else Other([])

    def attribute(self, node: ast.Attribute) -> Expression:
        place = self.place(node)
        self.mention(node.attr)
        return Attribute(place, self.expression(node.value), node.attr)

    def call(self, node: ast.Call) -> Expression:
        place = self.place(node)
        callee = self.expression(node.func)
        return CallNode(place, callee, self.arguments(node.args, node.keywords))

    def arguments(
        self, by_position: list[ast.expr], named: list[ast.keyword]
    ) -> list[CallArgument]:
        """Return the arguments in source order: `f(a=1, *b)` has the one by position last."""
        lowered = []
        arguments: list[ast.expr | ast.keyword] = [*by_position, *named]
        if by_position and named and isinstance(by_position[-1], ast.Starred):
            arguments.sort(key=_start)
        for each in arguments:
            place, keyword, star = NOWHERE, None, ""
            if isinstance(each, ast.keyword):
                place = self.place(each)
                keyword = each.arg
                if keyword is None:
                    star = "**"
                else:
                    self.mention(keyword)
                each = each.value
            elif isinstance(each, ast.Starred):
                star, each = "*", each.value
            value = self.expression(each)
            place = first_place(value) if place == NOWHERE else place
            lowered.append(CallArgument(keyword, star, value, place))
        return lowered

    def formatted(self, node: ast.JoinedStr) -> Expression:
        self.in_string += 1
        items = [
            self.expression(part.value)
            for part in node.values
            if isinstance(part, ast.FormattedValue)
        ]
        self.in_string -= 1
        return FormattedString(items)

    def display(self, node: ast.Tuple | ast.List | ast.Set) -> Expression:
        place = self.place(node)
        return Display(_DISPLAYS[type(node)], place, [self.element(item) for item in node.elts])

    def element(self, item: ast.expr) -> Expression:
        if isinstance(item, ast.Starred):
            return Starred(self.expression(item.value))
        return self.expression(item)

    def dictionary(self, node: ast.Dict) -> Expression:
        place = self.place(node)
        items = []
        for key_node, value in zip(node.keys, node.values, strict=True):
            key = None if key_node is None else self.expression(key_node)
            items.append(DictItem(key, self.expression(value)))
        return DictDisplay(place, items)

    def subscript(self, node: ast.Subscript) -> Expression:
        place = self.place(node)
        base = self.expression(node.value)
        return Subscript(place, base, self.expression(node.slice))

    def slice(self, node: ast.Slice) -> Expression:
        bounds = (node.lower, node.upper, node.step)
        return Slice([self.expression(bound) for bound in bounds if bound is not None])

    def lambda_(self, node: ast.Lambda) -> Expression:
        place = self.place(node)
        parameters = self.parameters(node.args)
        function = self.new_function("<lambda>", place, parameters, [], is_lambda=True)
        self.finish_function(function, [Return(NOWHERE, self.expression(node.body))])
        return Lambda(place, function.index)

    def parameters(self, node: ast.arguments) -> ir.Parameters:
        by_position = [*node.posonlyargs, *node.args]
        without = len(by_position) - len(node.defaults)
        defaults = [*[None] * without, *node.defaults]
        known = [self.parameter(*each) for each in zip(by_position, defaults, strict=True)]
        star = self.parameter(node.vararg).name if node.vararg else None
        keyword_only = [
            self.parameter(*each) for each in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        star_star = self.parameter(node.kwarg).name if node.kwarg else None
        first = len(node.posonlyargs)
        return ir.Parameters(known[:first], known[first:], star, keyword_only, star_star)

    def parameter(self, node: ast.arg, default: ast.expr | None = None) -> ir.Parameter:
        if node.annotation is not None:
            self.expression(node.annotation)
        return ir.Parameter(node.arg, None if default is None else self.expression(default))

    def conditional(self, node: ast.IfExp) -> Expression:
        place = self.place(node)
        body = self.expression(node.body)
        test = self.expression(node.test)
        return Conditional(place, test, body, self.expression(node.orelse))

    def boolean(self, node: ast.BoolOp) -> Expression:
        """Lower `(a and b) and c` as one operation of three."""
        op = "and" if isinstance(node.op, ast.And) else "or"
        later: list[ast.expr] = []
        first: ast.expr = node
        while isinstance(first, ast.BoolOp) and type(first.op) is type(node.op):
            later[:0] = first.values[1:]
            first = first.values[0]
        return BoolOperation(op, [self.expression(item) for item in [first, *later]])

    def binary(self, node: ast.BinOp) -> Expression:
        """Lower a left-leaning chain without recursion, so that long sums do not nest."""
        chain: list[ast.BinOp] = []
        rest: ast.expr = node
        while isinstance(rest, ast.BinOp):
            chain.append(rest)
            rest = rest.left
        left = self.expression(rest)
        if len(chain) > MAX_CHAIN:
            return Other([left, *(self.expression(link.right) for link in reversed(chain))])
        for link in reversed(chain):
            left = BinaryOperation(OPERATORS[type(link.op)], left, self.expression(link.right))
        return left

    def unary(self, node: ast.UnaryOp) -> Expression:
        item = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Not(item)
        if isinstance(node.op, ast.USub):
            return self.negated(item)
        return UnaryOperation(OPERATORS[type(node.op)], item)

    def comparison(self, node: ast.Compare) -> Expression:
        left = self.expression(node.left)
        comparisons = [
            Comparison(OPERATORS[type(op)], self.expression(right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        return Compare(left, comparisons)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Expression:
        place = self.place(node)
        if isinstance(node, ast.DictComp):
            key: Expression | None = self.expression(node.key)
            element = self.expression(node.value)
        else:
            key, element = None, self.expression(node.elt)
        clauses = []
        for generator in node.generators:
            target = self.expression(generator.target)
            self.bind_in_comprehension(target)
            iterated = self.expression(generator.iter)
            clauses.append(
                Clause(target, iterated, [self.expression(test) for test in generator.ifs])
            )
        return Comprehension(_COMPREHENSIONS[type(node)], place, key, element, clauses)

    def await_(self, node: ast.Await) -> Expression:
        return Await(self.expression(node.value))

    def yield_(self, node: ast.Yield) -> Expression:
        self.scopes[-1].generator = True
        place = self.place(node)
        return Yield(place, Constant(None) if node.value is None else self.expression(node.value))

    def yield_from(self, node: ast.YieldFrom) -> Expression:
        self.scopes[-1].generator = True
        return YieldFrom(self.place(node), self.expression(node.value))

    def walrus(self, node: ast.NamedExpr) -> Expression:
        self.expression(node.target)
        value = self.expression(node.value)
        self.bind(node.target.id)
        return NamedExpression(node.target.id, value)


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
_HANDLERS: dict[type, ExpressionMethod] = {
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
