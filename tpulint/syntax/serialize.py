"""Summaries as compact JSON: a node is an array of the number of its class and its fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeAlias, cast

from tpulint.syntax import expression_nodes as e
from tpulint.syntax import statement_nodes as s
from tpulint.syntax.ir import (
    ClassCode,
    Encoded,
    FunctionBody,
    FunctionCode,
    ModuleSummary,
    Parameter,
    Parameters,
)
from tpulint.syntax.nodes import Block, Expression, Node

Array: TypeAlias = list[Any]  # of JSON's types: mypy cannot see into a file

# The form of the fields of each class: "-" as they are, "n" a node or null, "l" nodes.
# A class is written by its place in this list: with a new order comes a new `ir.VERSION`.
FORMS: tuple[tuple[type[Node], str], ...] = (
    (e.Name, "--"),
    (e.Attribute, "-n-"),
    (e.CallArgument, "--n-"),
    (e.CallNode, "-nl"),
    (e.Constant, "-"),
    (e.Display, "--l"),
    (e.Starred, "n"),
    (e.DictItem, "nn"),
    (e.DictDisplay, "-l"),
    (e.Subscript, "-nn"),
    (e.Slice, "l"),
    (e.Lambda, "--"),
    (e.Conditional, "-nnn"),
    (e.BoolOperation, "-l"),
    (e.Not, "n"),
    (e.Comparison, "-n"),
    (e.Compare, "nl"),
    (e.BinaryOperation, "-nn"),
    (e.UnaryOperation, "-n"),
    (e.Clause, "nnl"),
    (e.Comprehension, "--nnl"),
    (e.Await, "n"),
    (e.Yield, "-n"),
    (e.YieldFrom, "-n"),
    (e.NamedExpression, "-n"),
    (e.FormattedString, "l"),
    (e.Other, "l"),
    (s.Assign, "ln"),
    (s.AugmentedAssign, "-nn"),
    (s.AnnotatedAssign, "nnn"),
    (s.ExpressionStatement, "n"),
    (s.Return, "-n"),
    (s.If, "-nll"),
    (s.For, "-nnll"),
    (s.While, "-nll"),
    (s.WithItem, "nn"),
    (s.With, "-ll"),
    (s.Handler, "n-l"),
    (s.Try, "llll"),
    (s.Define, "-"),
    (s.DefineClass, "-"),
    (s.Alias, "--"),
    (s.Import, "l"),
    (s.ImportFrom, "--l"),
    (s.Scoping, "-"),
    (s.Delete, "l"),
    (s.Raise, "l"),
    (s.Assert, "l"),
    (s.Pass, ""),
    (s.Jump, "-"),
    (s.Case, "nl"),
    (s.Match, "nl"),
)


def _encode_node(node: Node | None) -> Array | None:
    if node is None:
        return None
    number, fields_of, nodes, lists = _WRITTEN[type(node)]
    row = [number, *fields_of(node)]
    for at in nodes:
        if row[at] is not None:
            row[at] = _encode_node(row[at])
    for at in lists:
        if row[at]:
            row[at] = [_encode_node(each) for each in row[at]]
    return row


def _encode_nodes(nodes: list[Node] | None) -> Array | None:
    return None if nodes is None else [_encode_node(each) for each in nodes]


def _decode_node(row: Array) -> Node:
    make, nodes, lists = _READ[row[0]]
    fields = row[1:]
    for at in nodes:
        if fields[at] is not None:
            fields[at] = _decode_node(fields[at])
    for at in lists:
        if fields[at]:
            fields[at] = [_decode_node(each) for each in fields[at]]
    return make(*fields)


def _places(form: str, how: str) -> list[int]:
    """Return which fields have the form `how`."""
    return [at for at, each in enumerate(form) if each == how]


def _fields_of(cls: type[Node]) -> Callable[[Node], Iterable[Any]]:
    """Return what gives the fields of a node of `cls`, for several of them in C."""
    names = cls.__slots__
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: [getattr(node, name) for name in names]


# In a row, the number of the class is before the fields.
_WRITTEN = {
    cls: (number, _fields_of(cls), _places(f"-{form}", "n"), _places(f"-{form}", "l"))
    for number, (cls, form) in enumerate(FORMS)
}
_READ: list[tuple[Callable[..., Node], list[int], list[int]]] = [
    (cls, _places(form, "n"), _places(form, "l")) for cls, form in FORMS
]


def dumps(facts: ModuleSummary) -> str:
    """Return the summary as JSON."""
    return json.dumps(
        [
            _encode_nodes(cast("list[Node]", facts.body)),
            [_encode_function(each) for each in facts.functions],
            [_encode_class(each) for each in facts.classes],
            facts.mentions,
            facts.counts,
        ],
        check_circular=False,
        separators=(",", ":"),
    )


def loads(text: str | bytes) -> ModuleSummary:
    """Return the summary that `dumps` wrote; bodies of functions are decoded when they are used."""
    body, functions, classes, mentions, counts = json.loads(text)
    return ModuleSummary(
        _block(body),
        [_decode_function(row) for row in functions],
        [_decode_class(row) for row in classes],
        mentions,
        counts,
    )


def _block(rows: Array) -> Block:
    return cast("Block", [_decode_node(each) for each in rows])


def _expressions(rows: Array) -> list[Expression]:
    return cast("list[Expression]", [_decode_node(each) for each in rows])


def _encode_function(code: FunctionCode) -> Array:
    of = code.parameters
    return [
        code.name,
        code.place,
        [
            _encode_parameters(of.positional_only),
            _encode_parameters(of.positional),
            of.star,
            _encode_parameters(of.keyword_only),
            of.star_star,
        ],
        [_encode_node(each) for each in code.decorators],
        code.is_async,
        code.is_lambda,
        code.class_index,
        code.parent,
        code.index,
        None if code.known is None else _encode_body(code.known),
        code.rows,
    ]


def _decode_function(row: Array) -> FunctionCode:
    name, place, parameters, decorators, is_async, is_lambda, owner, parent, index, known, rows = (
        row
    )
    only, positional, star, keyword, star_star = parameters
    return FunctionCode(
        name,
        place,
        Parameters(
            _decode_parameters(only),
            _decode_parameters(positional),
            star,
            _decode_parameters(keyword),
            star_star,
        ),
        _expressions(decorators),
        is_async,
        is_lambda,
        owner,
        parent,
        index,
        None if known is None else _decode_body(known),
        None if rows is None else (rows[0], rows[1], rows[2]),
    )


def _encode_parameters(rows: list[Parameter]) -> Array:
    return [[name, _encode_node(default)] for name, default in rows]


def _decode_parameters(rows: Array) -> list[Parameter]:
    return [
        Parameter(name, None if row is None else cast("Expression", _decode_node(row)))
        for name, row in rows
    ]


def _encode_body(body: FunctionBody) -> Array:
    written = body.written
    rows = (
        written.rows if isinstance(written, Encoded) else [_encode_node(each) for each in written]
    )
    return [rows, body.mentions, body.local_names, body.is_generator, body.counts]


def _decode_body(row: Array) -> FunctionBody:
    rows, mentions, local_names, is_generator, counts = row
    encoded = Encoded(rows, lambda: _block(rows))
    return FunctionBody(encoded, mentions, local_names, is_generator, counts)


def _encode_class(code: ClassCode) -> Array:
    return [
        code.name,
        code.place,
        [_encode_node(each) for each in code.bases],
        [_encode_node(each) for each in code.keywords],
        [_encode_node(each) for each in code.decorators],
        [_encode_node(each) for each in code.body],
        code.methods,
        code.setters,
        code.parent,
        code.index,
    ]


def _decode_class(row: Array) -> ClassCode:
    name, place, bases, keywords, decorators, body, methods, setters, parent, index = row
    return ClassCode(
        name,
        place,
        _expressions(bases),
        cast("list[e.CallArgument]", [_decode_node(each) for each in keywords]),
        _expressions(decorators),
        _block(body),
        methods,
        setters,
        parent,
        index,
    )
