"""Expressions of a libcst tree in the summary language."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.syntax import ir
from tpulint.syntax.expression_nodes import (
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
    FormattedString,
    Lambda,
    Name,
    NamedExpression,
    Not,
    Other,
    Slice,
    Starred,
    Subscript,
    UnaryOperation,
    Yield,
    YieldFrom,
)
from tpulint.syntax.light_nodes import cst
from tpulint.syntax.lowering.definitions import Definitions, ExpressionMethod
from tpulint.syntax.lowering.literals import literal
from tpulint.syntax.lowering.scopes import DEPTH_LIMIT
from tpulint.syntax.nodes import Expression
from tpulint.syntax.places import NOWHERE, first_place
from tpulint.syntax.statement_nodes import Return


class Expressions(Definitions):
    """One method a kind of expression; `expression` chooses."""

    def expression(self, node: cst.CSTNode) -> Expression:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return Other([])
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            self.depth -= 1
            self.truncated = True
            return Other([])
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    def name(self, node: cst.Name) -> Expression:
        self.mention(node.value)
        if node.value in ("None", "True", "False"):
            return Constant({"None": None, "True": True, "False": False}[node.value])
        return Name(self.place(ir.NAME, node), node.value)

    def attribute(self, node: cst.Attribute) -> Expression:
        place = self.place(ir.ATTRIBUTE, node)
        self.mention(node.attr.value)
        return Attribute(place, self.expression(node.value), node.attr.value)

    def call(self, node: cst.Call) -> Expression:
        place = self.place(ir.CALL, node)
        return CallNode(place, self.expression(node.func), self.arguments(node.args))

    def arguments(self, args: Sequence[cst.Arg]) -> list[CallArgument]:
        lowered = []
        for arg in args:
            named = arg.keyword is not None or arg.star == "**"
            place = self.place(ir.KEYWORD, arg) if named else NOWHERE
            keyword = arg.keyword.value if arg.keyword is not None else None
            if keyword is not None:
                self.mention(keyword)
            value = self.expression(arg.value)
            place = place if named else first_place(value)
            lowered.append(CallArgument(keyword, arg.star, value, place))
        return lowered

    def string(self, node: cst.SimpleString) -> Expression:
        value = literal(node.value)
        return self.text(value) if isinstance(value, str) else Other([])

    def number(self, node: cst.Integer | cst.Float) -> Expression:
        value = literal(node.value)
        return Constant(value) if isinstance(value, (int, float)) else Other([])

    def concatenated(self, node: cst.ConcatenatedString) -> Expression:
        parts: list[cst.BaseExpression] = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(rest.left)
            rest = rest.right
        parts.append(rest)
        if any(isinstance(part, cst.FormattedString) for part in parts):
            return FormattedString([each for part in parts for each in self.in_braces(part)])
        texts = [literal(part.value) for part in parts if isinstance(part, cst.SimpleString)]
        strings = [each for each in texts if isinstance(each, str)]
        return self.text("".join(strings)) if len(strings) == len(parts) else Other([])

    def formatted(self, node: cst.FormattedString) -> Expression:
        return FormattedString(self.in_braces(node))

    def in_braces(self, node: cst.BaseExpression) -> list[Expression]:
        """The expressions in an f-string; there are none in another string."""
        self.in_string += 1
        items = [
            self.expression(part.expression)
            for part in (node.parts if isinstance(node, cst.FormattedString) else ())
            if isinstance(part, cst.FormattedStringExpression)
        ]
        self.in_string -= 1
        return items

    def display(self, node: cst.Tuple | cst.List | cst.Set) -> Expression:
        place = self.place(ir.DISPLAY, node)
        kind = {"Tuple": "tuple", "List": "list", "Set": "set"}[type(node).__name__]
        return Display(kind, place, [self.element(item) for item in node.elements])

    def element(self, item: cst.BaseElement) -> Expression:
        if isinstance(item, cst.StarredElement):
            return Starred(self.expression(item.value))
        return self.expression(item.value)

    def dictionary(self, node: cst.Dict) -> Expression:
        place = self.place(ir.DISPLAY, node)
        items: list[DictItem] = []
        for item in node.elements:
            if isinstance(item, cst.DictElement):
                key = self.expression(item.key)
                items.append(DictItem(key, self.expression(item.value)))
            else:
                items.append(DictItem(None, self.expression(item.value)))
        return DictDisplay(place, items)

    def subscript(self, node: cst.Subscript) -> Expression:
        place = self.place(ir.SUBSCRIPT, node)
        base = self.expression(node.value)
        (first, *others) = node.slice
        starred = isinstance(first.slice, cst.Index) and first.slice.star is not None
        if not others and not starred and not isinstance(first.comma, cst.Comma):
            return Subscript(place, base, self.slice_part(first.slice))
        inner = self.place(ir.DISPLAY, node)
        parts = [self.slice_part(element.slice) for element in node.slice]
        return Subscript(place, base, Display("tuple", inner, parts))

    def slice_part(self, node: cst.BaseSlice) -> Expression:
        if isinstance(node, cst.Index):
            item = self.expression(node.value)
            return item if node.star is None else Starred(item)
        assert isinstance(node, cst.Slice)
        bounds = [node.lower, node.upper, node.step]
        return Slice([self.expression(bound) for bound in bounds if bound is not None])

    def lambda_(self, node: cst.Lambda) -> Expression:
        place = self.place(ir.LAMBDA, node)
        parameters = self.parameters(node.params)
        function = self.new_function("<lambda>", place, parameters, [], is_lambda=True)
        self.finish_function(function, [Return(NOWHERE, self.expression(node.body))])
        return Lambda(place, function.index)

    def parameters(self, node: cst.Parameters) -> ir.Parameters:
        star = None
        positional_only = [self.parameter(p) for p in node.posonly_params]
        positional = [self.parameter(p) for p in node.params]
        if isinstance(node.star_arg, cst.Param):
            star = self.parameter(node.star_arg).name
        keyword_only = [self.parameter(p) for p in node.kwonly_params]
        star_star = self.parameter(node.star_kwarg).name if node.star_kwarg else None
        return ir.Parameters(positional_only, positional, star, keyword_only, star_star)

    def parameter(self, node: cst.Param) -> ir.Parameter:
        if node.annotation is not None:
            self.expression(node.annotation.annotation)
        default = self.expression(node.default) if node.default is not None else None
        return ir.Parameter(node.name.value, default)

    def conditional(self, node: cst.IfExp) -> Expression:
        place = self.place(ir.IFEXP, node)
        body = self.expression(node.body)
        test = self.expression(node.test)
        return Conditional(place, test, body, self.expression(node.orelse))

    def boolean(self, node: cst.BooleanOperation) -> Expression:
        op = "and" if isinstance(node.operator, cst.And) else "or"
        items = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.BooleanOperation):
            if isinstance(rest.operator, cst.And) is not (op == "and"):
                break
            items.append(rest.right)
            rest = rest.left
        return BoolOperation(op, [self.expression(item) for item in [rest, *reversed(items)]])

    def binary(self, node: cst.BinaryOperation) -> Expression:
        """A left-leaning chain is unrolled, so that long sums do not nest."""
        chain: list[cst.BinaryOperation] = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.BinaryOperation):
            chain.append(rest)
            rest = rest.left
        left = self.expression(rest)
        for link in reversed(chain):
            op = type(link.operator).__name__
            left = BinaryOperation(op, left, self.expression(link.right))
        return left

    def unary(self, node: cst.UnaryOperation) -> Expression:
        if isinstance(node.operator, cst.Not):
            return Not(self.expression(node.expression))
        item = self.expression(node.expression)
        if isinstance(node.operator, cst.Minus):
            return self.negated(item)
        return UnaryOperation(type(node.operator).__name__, item)

    def comparison(self, node: cst.Comparison) -> Expression:
        left = self.expression(node.left)
        comparisons = [
            Comparison(type(part.operator).__name__, self.expression(part.comparator))
            for part in node.comparisons
        ]
        return Compare(left, comparisons)

    def comprehension(self, node: cst.BaseSimpleComp | cst.DictComp) -> Expression:
        place = self.place(ir.COMPREHENSION, node)
        key = None
        if isinstance(node, cst.DictComp):
            kind, key = "dict", self.expression(node.key)
            element = self.expression(node.value)
        else:
            kind = {cst.ListComp: "list", cst.SetComp: "set"}.get(type(node), "generator")
            element = self.expression(node.elt)
        clauses = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            target = self.expression(clause.target)
            self.bind_in_comprehension(target)
            iterated = self.expression(clause.iter)
            tests = [self.expression(each.test) for each in clause.ifs]
            clauses.append(Clause(target, iterated, tests))
            clause = clause.inner_for_in
        return Comprehension(kind, place, key, element, clauses)

    def await_(self, node: cst.Await) -> Expression:
        return Await(self.expression(node.expression))

    def yield_(self, node: cst.Yield) -> Expression:
        self.scopes[-1].generator = True
        place = self.place(ir.YIELD, node)
        if isinstance(node.value, cst.From):
            return YieldFrom(place, self.expression(node.value.item))
        value = Constant(None) if node.value is None else self.expression(node.value)
        return Yield(place, value)

    def walrus(self, node: cst.NamedExpr) -> Expression:
        target = self.expression(node.target)
        value = self.expression(node.value)
        if isinstance(target, Name):
            self.bind(target.id)
            return NamedExpression(target.id, value)
        return Other([value])


_HANDLERS: dict[type, ExpressionMethod] = {
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
