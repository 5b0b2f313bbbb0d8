"""From CPython's tree to the summary language, in one walk: one method per kind of node."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any

from tpulint.syntax import ir, nodes
from tpulint.syntax.nodes import NOWHERE, first_place

# Deeper expressions and blocks become `other`: no fault of a TPU program hides there,
# and the walk's own recursion stays bounded.
MAX_DEPTH = 120
# Branches of one `if`, each in the `else` of the one before: generated code has thousands.
MAX_ELIFS = 200
# Operators on one another, beyond which a sum is only its operands: generated code has thousands.
MAX_CHAIN = 1_000
COMPREHENSIONS: dict[type, str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}
# The operators that have longer names than CPython's.
OPERATORS = {
    "Sub": "Subtract",
    "Mult": "Multiply",
    "MatMult": "MatrixMultiply",
    "Div": "Divide",
    "FloorDiv": "FloorDivide",
    "Mod": "Modulo",
    "Pow": "Power",
    "LShift": "LeftShift",
    "RShift": "RightShift",
    "UAdd": "Plus",
    "USub": "Minus",
    "Invert": "BitInvert",
    "Eq": "Equal",
    "NotEq": "NotEqual",
    "Lt": "LessThan",
    "LtE": "LessThanEqual",
    "Gt": "GreaterThan",
    "GtE": "GreaterThanEqual",
}


def operator_name(op: ast.operator | ast.unaryop | ast.cmpop) -> str:
    name = type(op).__name__
    return OPERATORS.get(name, name)


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


class Lowering:
    """One method per kind of node, by the name of CPython's; `expression` and `block` choose.

    left_out: functions whose bodies are passed over; `unread` has them by index.
    """

    def __init__(self, left_out: Collection[ast.stmt] = ()) -> None:
        self.positions = array("i")
        self.functions: list[ir.FunctionCode] = []
        self.classes: list[ir.ClassCode] = []
        self.scopes = [LexicalScope("module")]
        self.depth = 0
        self.in_string = 0
        self.piece = 0
        self.row_offset = 0
        self.left_out = left_out
        self.unread: dict[int, ast.FunctionDef | ast.AsyncFunctionDef] = {}

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

    def bind_all(self, target: nodes.Expression) -> None:
        """Bind the names in an assigned expression in this scope."""
        match target:
            case nodes.Name(id=name):
                self.bind(name)
            case nodes.Display(items=items):
                for item in items:
                    self.bind_all(item)
            case nodes.Starred(value=inner):
                self.bind_all(inner)
            case nodes.Attribute():
                self.note_setter(target)

    def note_setter(self, target: nodes.Attribute) -> None:
        """Note `self.a = ...` in a method: the class remembers which method sets `a`."""
        for scope, around in pairwise(reversed(self.scopes)):
            if isinstance(target.base, nodes.Name) and scope.self_name == target.base.id:
                setters = self.classes[around.index].setters.setdefault(target.name, [])
                if scope.index not in setters:
                    setters.append(scope.index)
                return

    def new_function(
        self,
        name: str,
        place: int,
        parameters: ir.Parameters,
        decorators: list[nodes.Expression],
        *,
        is_lambda: bool = False,
        is_async: bool = False,
    ) -> ir.FunctionCode:
        """Add a function of this scope, and enter the scope of its body."""
        around, parent, index = self.scopes[-1], self.enclosing("function"), len(self.functions)
        owner = around.index if around.kind == "class" else None
        function = ir.FunctionCode(
            name, place, parameters, decorators, is_async, is_lambda, owner, parent, index
        )
        self.functions.append(function)
        if owner is not None and not is_lambda:
            self.classes[owner].methods.append(index)
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

    def finish_function(self, function: ir.FunctionCode, body: nodes.Block) -> None:
        """Leave the scope of the function and write down what was seen in it."""
        scope = self.leave()
        names = frozenset(scope.bound - scope.outer)
        function.known = ir.FunctionBody(body, sorted(scope.mentions), names, scope.generator)

    def expression(self, node: ast.expr) -> nodes.Expression:
        lower = _METHODS.get(type(node))
        if lower is None or self.depth >= MAX_DEPTH:
            return nodes.Other([])
        self.depth += 1
        lowered: nodes.Expression = lower(self, node)
        self.depth -= 1
        return lowered

    def lower_name(self, node: ast.Name) -> nodes.Expression:
        self.mention(node.id)
        return nodes.Name(self.place(node), node.id)

    def lower_constant(self, node: ast.Constant) -> nodes.Expression:
        value = node.value
        # A string that reads like a name may be a name, of `getattr` for instance.
        reads_like_name = isinstance(value, str) and value.isidentifier()
        if reads_like_name or value is None or isinstance(value, bool):
            self.mention(str(value))
        if value is None or isinstance(value, (str, int, float)):
            return nodes.Constant(value)
        return nodes.Other([])

    def lower_attribute(self, node: ast.Attribute) -> nodes.Expression:
        place = self.place(node)
        self.mention(node.attr)
        return nodes.Attribute(place, self.expression(node.value), node.attr)

    def lower_call(self, node: ast.Call) -> nodes.Expression:
        place, callee = self.place(node), self.expression(node.func)
        return nodes.CallNode(place, callee, self.arguments(node.args, node.keywords))

    def arguments(
        self, by_position: list[ast.expr], named: list[ast.keyword]
    ) -> list[nodes.CallArgument]:
        """Return the arguments in source order: `f(a=1, *b)` has the one by position last."""
        arguments: list[ast.expr | ast.keyword] = [*by_position, *named]
        if by_position and named and isinstance(by_position[-1], ast.Starred):
            arguments.sort(key=attrgetter("lineno", "col_offset"))
        return [self.argument(argument) for argument in arguments]

    def argument(self, argument: ast.expr | ast.keyword) -> nodes.CallArgument:
        if isinstance(argument, ast.keyword):
            place, star = self.place(argument), "" if argument.arg else "**"
            if argument.arg:
                self.mention(argument.arg)
            return nodes.CallArgument(argument.arg, star, self.expression(argument.value), place)
        star = "*" if isinstance(argument, ast.Starred) else ""
        value = self.expression(argument.value if isinstance(argument, ast.Starred) else argument)
        return nodes.CallArgument(None, star, value, first_place(value))

    def lower_joinedstr(self, node: ast.JoinedStr) -> nodes.Expression:
        place = self.place(node)
        self.in_string += 1
        items: list[nodes.Expression] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.expression(part.value)
                is_given_format = part.format_spec is not None and part.conversion == -1
                items.append(nodes.FormattedValue(place, value) if is_given_format else value)
            elif isinstance(part, ast.Constant):
                items.append(nodes.Constant(str(part.value)))
        self.in_string -= 1
        return nodes.FormattedString(items)

    def lower_tuple(self, node: ast.Tuple | ast.List | ast.Set) -> nodes.Expression:
        kind, place = type(node).__name__.lower(), self.place(node)
        return nodes.Display(place, kind, [self.expression(item) for item in node.elts])

    lower_list = lower_set = lower_tuple

    def lower_starred(self, node: ast.Starred) -> nodes.Expression:
        return nodes.Starred(self.expression(node.value))

    def lower_dict(self, node: ast.Dict) -> nodes.Expression:
        place = self.place(node)
        pairs = zip(node.keys, node.values, strict=True)
        items = [nodes.DictItem(self.optional(key), self.expression(item)) for key, item in pairs]
        return nodes.DictDisplay(place, items)

    def lower_subscript(self, node: ast.Subscript) -> nodes.Expression:
        place, base = self.place(node), self.expression(node.value)
        return nodes.Subscript(place, base, self.expression(node.slice))

    def lower_slice(self, node: ast.Slice) -> nodes.Expression:
        bounds = {"lower": node.lower, "upper": node.upper, "step": node.step}
        present = {name: bound for name, bound in bounds.items() if bound is not None}
        return nodes.Slice([self.expression(bound) for bound in present.values()], [*present])

    def lower_lambda(self, node: ast.Lambda) -> nodes.Expression:
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
        self.optional(node.annotation)
        return ir.Parameter(node.arg, self.optional(default))

    def lower_ifexp(self, node: ast.IfExp) -> nodes.Expression:
        place = self.place(node)
        body = self.expression(node.body)
        test = self.expression(node.test)
        return nodes.Conditional(place, test, body, self.expression(node.orelse))

    def lower_boolop(self, node: ast.BoolOp) -> nodes.Expression:
        """Lower `(a and b) and c` as one operation of three."""
        op = type(node.op).__name__.lower()
        later: list[ast.expr] = []
        first: ast.expr = node
        while isinstance(first, ast.BoolOp) and type(first.op) is type(node.op):
            later[:0] = first.values[1:]
            first = first.values[0]
        return nodes.BoolOperation(op, [self.expression(item) for item in [first, *later]])

    def lower_binop(self, node: ast.BinOp) -> nodes.Expression:
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
            left = nodes.BinaryOperation(operator_name(link.op), left, self.expression(link.right))
        return left

    def lower_unaryop(self, node: ast.UnaryOp) -> nodes.Expression:
        item = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return nodes.Not(item)
        if isinstance(node.op, ast.USub) and isinstance(item, nodes.Constant):
            number = item.value
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                return nodes.Constant(-number)
        return nodes.UnaryOperation(operator_name(node.op), item)

    def lower_compare(self, node: ast.Compare) -> nodes.Expression:
        left = self.expression(node.left)
        comparisons = [
            nodes.Comparison(operator_name(op), self.expression(right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        return nodes.Compare(left, comparisons)

    def lower_listcomp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> nodes.Expression:
        place = self.place(node)
        key = self.expression(node.key) if isinstance(node, ast.DictComp) else None
        element = self.expression(node.value if isinstance(node, ast.DictComp) else node.elt)
        clauses = []
        for generator in node.generators:
            target = self.expression(generator.target)
            for part in nodes.walk(target):  # bound in this scope, and so in no outer one
                if isinstance(part, nodes.Name):
                    self.bind(part.id)
            iterated = self.expression(generator.iter)
            tests = [self.expression(test) for test in generator.ifs]
            clauses.append(nodes.Clause(target, iterated, tests))
        return nodes.Comprehension(COMPREHENSIONS[type(node)], place, key, element, clauses)

    lower_setcomp = lower_generatorexp = lower_dictcomp = lower_listcomp

    def lower_await(self, node: ast.Await) -> nodes.Expression:
        return nodes.Await(self.expression(node.value))

    def lower_yield(self, node: ast.Yield) -> nodes.Expression:
        self.scopes[-1].generator = True
        place = self.place(node)
        return nodes.Yield(place, self.optional(node.value) or nodes.Constant(None))

    def lower_yieldfrom(self, node: ast.YieldFrom) -> nodes.Expression:
        self.scopes[-1].generator = True
        return nodes.YieldFrom(self.place(node), self.expression(node.value))

    def lower_namedexpr(self, node: ast.NamedExpr) -> nodes.Expression:
        self.expression(node.target)
        value = self.expression(node.value)
        self.bind(node.target.id)
        return nodes.NamedExpression(node.target.id, value)

    def block(self, body: list[ast.stmt]) -> nodes.Block:
        """Return the statements of a suite."""
        self.depth += 1
        lowered: nodes.Block = []
        for statement in body if self.depth <= MAX_DEPTH else ():
            if type(statement) in _METHODS:
                lowered.append(_METHODS[type(statement)](self, statement))
        self.depth -= 1
        return lowered

    def target(self, node: ast.expr) -> nodes.Expression:
        """Lower an assigned expression; the names in it are bound in this scope."""
        lowered = self.expression(node)
        self.bind_all(lowered)
        return lowered

    def lower_assign(self, node: ast.Assign) -> nodes.Statement:
        targets = [self.target(target) for target in node.targets]
        return nodes.Assign(targets, self.expression(node.value))

    def lower_augassign(self, node: ast.AugAssign) -> nodes.Statement:
        target = self.target(node.target)
        return nodes.AugmentedAssign(operator_name(node.op), target, self.expression(node.value))

    def lower_annassign(self, node: ast.AnnAssign) -> nodes.Statement:
        target, annotation = self.target(node.target), self.expression(node.annotation)
        return nodes.AnnotatedAssign(target, annotation, self.optional(node.value))

    def optional(self, node: ast.expr | None) -> nodes.Expression | None:
        return None if node is None else self.expression(node)

    def lower_expr(self, node: ast.Expr) -> nodes.Statement:
        return nodes.ExpressionStatement(self.expression(node.value))

    def lower_return(self, node: ast.Return) -> nodes.Statement:
        return nodes.Return(self.place(node), self.optional(node.value))

    def lower_if(self, node: ast.If) -> nodes.Statement:
        """Lower an elif chain in a loop: generated code has thousands of them.

        Each branch is the `else` of the one before; those beyond MAX_ELIFS are tests of their own,
        one after the other.
        """
        branches: list[nodes.If] = []
        current: ast.If | None = node
        while current is not None:
            place = self.place(current)
            test = self.expression(current.test)
            branches.append(nodes.If(place, test, self.block(current.body), []))
            rest = current.orelse
            current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        orelse = [*branches[MAX_ELIFS:], *self.block(rest)]
        for branch in reversed(branches[:MAX_ELIFS]):
            branch.orelse.extend(orelse)
            orelse = [branch]
        return orelse[0]

    def lower_for(self, node: ast.For | ast.AsyncFor) -> nodes.Statement:
        place, target = self.place(node), self.target(node.target)
        iterated = self.expression(node.iter)
        return nodes.For(place, target, iterated, self.block(node.body), self.block(node.orelse))

    lower_asyncfor = lower_for

    def lower_while(self, node: ast.While) -> nodes.Statement:
        place, test = self.place(node), self.expression(node.test)
        return nodes.While(place, test, self.block(node.body), self.block(node.orelse))

    def lower_with(self, node: ast.With | ast.AsyncWith) -> nodes.Statement:
        place = self.place(node)
        items = []
        for item in node.items:
            managed = self.expression(item.context_expr)
            target = self.target(item.optional_vars) if item.optional_vars else None
            items.append(nodes.WithItem(managed, target))
        return nodes.With(place, items, self.block(node.body))

    lower_asyncwith = lower_with

    def lower_try(self, node: ast.Try) -> nodes.Statement:
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            caught = self.optional(handler.type)
            if handler.name is not None:
                self.bind(handler.name)
            handlers.append(nodes.Handler(caught, handler.name, self.block(handler.body)))
        return nodes.Try(body, handlers, self.block(node.orelse), self.block(node.finalbody))

    lower_trystar = lower_try  # `except*`, from Python 3.11 on

    def lower_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> nodes.Statement:
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

    lower_asyncfunctiondef = lower_functiondef

    def lower_classdef(self, node: ast.ClassDef) -> nodes.Statement:
        decorators = [self.expression(decorator) for decorator in node.decorator_list]
        place = self.place(node)
        self.bind(node.name)
        bases = [
            self.expression(base.value if isinstance(base, ast.Starred) else base)
            for base in node.bases
        ]
        keywords = self.arguments([], node.keywords)
        index, parent = len(self.classes), self.enclosing("function")
        code = ir.ClassCode(node.name, place, bases, keywords, decorators, [], parent, index)
        self.classes.append(code)
        self.scopes.append(LexicalScope("class", index))
        code.body.extend(self.block(node.body))
        self.leave()
        return nodes.DefineClass(index)

    def lower_import(self, node: ast.Import) -> nodes.Statement:
        names = []
        for alias in node.names:
            parts = alias.name.split(".")
            self.bind(alias.asname or parts[0])
            self.scopes[-1].mentions.update(parts)
            names.append(nodes.Alias(alias.name, alias.asname))
        return nodes.Import(names)

    def lower_importfrom(self, node: ast.ImportFrom) -> nodes.Statement:
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

    def lower_global(self, node: ast.Global | ast.Nonlocal) -> nodes.Statement:
        self.scopes[-1].outer.update(node.names)  # the function's local names say what it means
        return nodes.Pass()

    lower_nonlocal = lower_global

    def lower_delete(self, node: ast.Delete) -> nodes.Statement:
        return nodes.Delete([self.target(target) for target in node.targets])

    def lower_raise(self, node: ast.Raise) -> nodes.Statement:
        return nodes.Raise([self.expression(part) for part in (node.exc, node.cause) if part])

    def lower_assert(self, node: ast.Assert) -> nodes.Statement:
        return nodes.Assert([self.expression(part) for part in (node.test, node.msg) if part])

    def lower_pass(self, node: ast.Pass) -> nodes.Statement:
        return nodes.Pass()

    def lower_break(self, node: ast.Break | ast.Continue) -> nodes.Statement:
        return nodes.Jump(type(node).__name__.lower())

    lower_continue = lower_break

    def lower_match(self, node: ast.Match) -> nodes.Statement:
        """Patterns are not modelled: their names become unknown, their bodies are walked."""
        subject = self.expression(node.subject)
        cases = [
            nodes.Case(self.optional(case.guard), self.block(case.body)) for case in node.cases
        ]
        return nodes.Match(subject, cases)


_METHODS: dict[type[ast.AST], Callable[[Lowering, Any], Any]] = {
    kind: getattr(Lowering, f"lower_{kind.__name__.lower()}")
    for kind in (*ast.expr.__subclasses__(), *ast.stmt.__subclasses__())
    if hasattr(Lowering, f"lower_{kind.__name__.lower()}")
}
