"""Expressions of a libcst tree in the summary language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tpulint.syntax import ir
from tpulint.syntax.literals import literal
from tpulint.syntax.scopes import DEPTH_LIMIT, LexicalScope, Walk


class Expressions(Walk):
    """One method a kind of expression; `expression` chooses."""

    def expression(self, node: Any) -> ir.Node:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return ["other", []]
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            self.depth -= 1
            self.truncated = True
            return ["other", []]
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    def name(self, node: cst.Name) -> ir.Node:
        self.mention(node.value)
        if node.value in ("None", "True", "False"):
            return ["const", {"None": None, "True": True, "False": False}[node.value]]
        return ["name", self.place(ir.NAME, node), node.value]

    def attribute(self, node: cst.Attribute) -> ir.Node:
        place = self.place(ir.ATTRIBUTE, node)
        self.mention(node.attr.value)
        return ["attr", place, self.expression(node.value), node.attr.value]

    def call(self, node: cst.Call) -> ir.Node:
        place = self.place(ir.CALL, node)
        return ["call", place, self.expression(node.func), self.arguments(node.args)]

    def arguments(self, args: Sequence[cst.Arg]) -> list[Any]:
        lowered = []
        for arg in args:
            named = arg.keyword is not None or arg.star == "**"
            place = self.place(ir.KEYWORD, arg) if named else -1
            keyword = arg.keyword.value if arg.keyword is not None else None
            if keyword is not None:
                self.mention(keyword)
            lowered.append([keyword, arg.star, self.expression(arg.value), place])
        return lowered

    def string(self, node: cst.SimpleString) -> ir.Node:
        value = literal(node.value)
        if not isinstance(value, str):
            return ["other", []]
        if value.isidentifier():
            self.mention(value)
        return ["const", value]

    def number(self, node: cst.Integer | cst.Float) -> ir.Node:
        value = literal(node.value)
        return ["other", []] if value is None else ["const", value]

    def concatenated(self, node: cst.ConcatenatedString) -> ir.Node:
        parts: list[Any] = []
        rest: Any = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(rest.left)
            rest = rest.right
        lowered = [self.expression(part) for part in [*parts, rest]]
        if all(part[0] == "const" and isinstance(part[1], str) for part in lowered):
            return ["const", "".join(part[1] for part in lowered)]
        return ["fstr", lowered]

    def formatted(self, node: cst.FormattedString) -> ir.Node:
        self.in_string += 1
        items = [
            self.expression(part.expression)
            for part in node.parts
            if isinstance(part, cst.FormattedStringExpression)
        ]
        self.in_string -= 1
        return ["fstr", items]

    def display(self, node: cst.Tuple | cst.List | cst.Set) -> ir.Node:
        place = self.place(ir.DISPLAY, node)
        kind = {"Tuple": "tuple", "List": "list", "Set": "set"}[type(node).__name__]
        return [kind, place, [self.element(item) for item in node.elements]]

    def element(self, item: cst.BaseElement) -> ir.Node:
        if isinstance(item, cst.StarredElement):
            return ["star", self.expression(item.value)]
        return self.expression(item.value)

    def dictionary(self, node: cst.Dict) -> ir.Node:
        place = self.place(ir.DISPLAY, node)
        pairs: list[list[Any]] = []
        for item in node.elements:
            if isinstance(item, cst.DictElement):
                key = self.expression(item.key)
                pairs.append([key, self.expression(item.value)])
            else:
                pairs.append([None, self.expression(item.value)])
        return ["dict", place, pairs]

    def subscript(self, node: cst.Subscript) -> ir.Node:
        place = self.place(ir.SUBSCRIPT, node)
        base = self.expression(node.value)
        if len(node.slice) == 1 and not isinstance(node.slice[0].comma, cst.Comma):
            return ["sub", place, base, self.slice_part(node.slice[0].slice)]
        inner = self.place(ir.DISPLAY, node)
        parts = [self.slice_part(element.slice) for element in node.slice]
        return ["sub", place, base, ["tuple", inner, parts]]

    def slice_part(self, node: cst.BaseSlice) -> ir.Node:
        if isinstance(node, cst.Index):
            return self.expression(node.value)
        assert isinstance(node, cst.Slice)
        bounds = [node.lower, node.upper, node.step]
        return ["slice", [self.expression(bound) for bound in bounds if bound is not None]]

    def lambda_(self, node: cst.Lambda) -> ir.Node:
        place = self.place(ir.LAMBDA, node)
        parameters = self.parameters(node.params)
        index = self.new_function("<lambda>", place, parameters, [], is_lambda=True)
        scope = LexicalScope("function", index)
        scope.bound.update(parameter_names(parameters))
        self.scopes.append(scope)
        body = self.expression(node.body)
        self.finish_function(index, [["return", -1, body]])
        return ["lambda", place, index]

    def parameters(self, node: cst.Parameters) -> ir.Parameters:
        star = None
        positional_only = [self.parameter(p) for p in node.posonly_params]
        positional = [self.parameter(p) for p in node.params]
        if isinstance(node.star_arg, cst.Param):
            star = self.parameter(node.star_arg)[0]
        keyword_only = [self.parameter(p) for p in node.kwonly_params]
        star_star = self.parameter(node.star_kwarg)[0] if node.star_kwarg else None
        return ir.Parameters(positional_only, positional, star, keyword_only, star_star)

    def parameter(self, node: cst.Param) -> tuple[str, ir.Node | None]:
        if node.annotation is not None:
            self.expression(node.annotation.annotation)
        default = self.expression(node.default) if node.default is not None else None
        return (node.name.value, default)

    def new_function(
        self,
        name: str,
        place: int,
        parameters: ir.Parameters,
        decorators: list[ir.Node],
        *,
        is_lambda: bool = False,
        is_async: bool = False,
    ) -> int:
        inside = self.scopes[-1]
        function = ir.Function(
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
        return function.index

    def finish_function(self, index: int, body: list[ir.Node]) -> None:
        """Leave the scope of the function and write down what was seen in it."""
        scope = self.leave()
        names = sorted(scope.bound - scope.outer)
        self.functions[index].known = ir.Inside(
            body, sorted(scope.mentions), names, scope.generator
        )

    def conditional(self, node: cst.IfExp) -> ir.Node:
        place = self.place(ir.IFEXP, node)
        body = self.expression(node.body)
        test = self.expression(node.test)
        return ["ifexp", place, test, body, self.expression(node.orelse)]

    def boolean(self, node: cst.BooleanOperation) -> ir.Node:
        op = "and" if isinstance(node.operator, cst.And) else "or"
        items = []
        rest: Any = node
        while isinstance(rest, cst.BooleanOperation):
            if isinstance(rest.operator, cst.And) is not (op == "and"):
                break
            items.append(rest.right)
            rest = rest.left
        return ["bool", op, [self.expression(item) for item in [rest, *reversed(items)]]]

    def binary(self, node: cst.BinaryOperation) -> ir.Node:
        """A left-leaning chain is unrolled, so that long sums do not nest."""
        chain: list[cst.BinaryOperation] = []
        rest: Any = node
        while isinstance(rest, cst.BinaryOperation):
            chain.append(rest)
            rest = rest.left
        left = self.expression(rest)
        for link in reversed(chain):
            left = ["bin", type(link.operator).__name__, left, self.expression(link.right)]
        return left

    def unary(self, node: cst.UnaryOperation) -> ir.Node:
        if isinstance(node.operator, cst.Not):
            return ["not", self.expression(node.expression)]
        item = self.expression(node.expression)
        if isinstance(node.operator, cst.Minus) and item[0] == "const" and _is_number(item[1]):
            return ["const", -item[1]]
        return ["unary", type(node.operator).__name__, item]

    def comparison(self, node: cst.Comparison) -> ir.Node:
        left = self.expression(node.left)
        pairs = [
            [type(part.operator).__name__, self.expression(part.comparator)]
            for part in node.comparisons
        ]
        return ["cmp", left, pairs]

    def comprehension(self, node: Any) -> ir.Node:
        place = self.place(ir.COMPREHENSION, node)
        kind = {"ListComp": "list", "SetComp": "set", "DictComp": "dict"}.get(
            type(node).__name__, "generator"
        )
        if kind == "dict":
            elements = [self.expression(node.key), self.expression(node.value)]
        else:
            elements = [self.expression(node.elt)]
        clauses = []
        clause = node.for_in
        while clause is not None:
            target = self.expression(clause.target)
            iterated = self.expression(clause.iter)
            tests = [self.expression(each.test) for each in clause.ifs]
            clauses.append([target, iterated, tests])
            clause = clause.inner_for_in
        return ["comp", kind, place, elements, clauses]

    def await_(self, node: cst.Await) -> ir.Node:
        return ["await", self.expression(node.expression)]

    def yield_(self, node: cst.Yield) -> ir.Node:
        self.scopes[-1].generator = True
        place = self.place(ir.YIELD, node)
        if isinstance(node.value, cst.From):
            return ["yieldfrom", place, self.expression(node.value.item)]
        value = ["const", None] if node.value is None else self.expression(node.value)
        return ["yield", place, value]

    def walrus(self, node: cst.NamedExpr) -> ir.Node:
        target = self.expression(node.target)
        value = self.expression(node.value)
        if target[0] == "name":
            self.bind(target[2])
            return ["walrus", target[2], value]
        return ["other", [value]]


def parameter_names(parameters: ir.Parameters) -> list[str]:
    rows = [*parameters.positional_only, *parameters.positional, *parameters.keyword_only]
    starred = [name for name in (parameters.star, parameters.star_star) if name]
    return [name for name, _ in rows] + starred


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_HANDLERS: dict[type, Callable[[Any, Any], ir.Node]] = {
    cst.Name: Expressions.name,
    cst.Attribute: Expressions.attribute,
    cst.Call: Expressions.call,
    cst.SimpleString: Expressions.string,
    cst.Integer: Expressions.number,
    cst.Float: Expressions.number,
    cst.ConcatenatedString: Expressions.concatenated,
    cst.FormattedString: Expressions.formatted,
    cst.Tuple: Expressions.display,
    cst.List: Expressions.display,
    cst.Set: Expressions.display,
    cst.Dict: Expressions.dictionary,
    cst.Subscript: Expressions.subscript,
    cst.Lambda: Expressions.lambda_,
    cst.IfExp: Expressions.conditional,
    cst.BooleanOperation: Expressions.boolean,
    cst.BinaryOperation: Expressions.binary,
    cst.UnaryOperation: Expressions.unary,
    cst.Comparison: Expressions.comparison,
    cst.ListComp: Expressions.comprehension,
    cst.SetComp: Expressions.comprehension,
    cst.GeneratorExp: Expressions.comprehension,
    cst.DictComp: Expressions.comprehension,
    cst.Await: Expressions.await_,
    cst.Yield: Expressions.yield_,
    cst.NamedExpr: Expressions.walrus,
}
