"""Edits of whole lines: a decorator, a block with or without the `with` around it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tpulint.analysis.domain.site import Module, Site
from tpulint.finding import Edit, Location
from tpulint.source import LINE_END

STEP = 4  # columns of an indentation


def decorated(module: Module, name: str, row: int, decorator: str) -> Edit | None:
    """Return the edit that puts a decorator outermost on the function `name` at `row`."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= row <= node.lineno:
                margin = LINE_END.split(module.text)[first - 1][: node.col_offset]
                place = Location(first, 1)
                return Edit(place, place, f"{margin}@{decorator}\n")
    return None


def without_with(call: Site) -> tuple[Edit, ...] | None:
    """Return the edits that take away the `with` whose only item is the call.

    None where there is no such block, or a string of several rows would change with its rows.
    """
    module = call.module
    rows = LINE_END.split(module.text)
    for node in ast.walk(parsed(module)):
        if not isinstance(node, ast.With) or len(node.items) != 1:
            continue
        item = node.items[0]
        if item.optional_vars is not None or not is_at(item.context_expr, call):
            continue
        first, last = node.body[0].lineno, node.body[-1].end_lineno or 0
        if (
            node.lineno != item.context_expr.end_lineno
            or first == node.lineno
            or not set(range(first, last + 1)).isdisjoint(rows_inside_strings(module.text))
        ):
            return None
        depth = node.body[0].col_offset - node.col_offset
        header = without_row(rows[node.lineno - 1], node.lineno, node.col_offset)
        inside = range(node.lineno + 1, last + 1)
        return (header, *dedented(rows, inside, depth))
    return None


def without_row(row: str, number: int, margin: int) -> Edit:
    """Return the edit that removes a row, but for its comment."""
    comment = re.search(r":[ \t]*(#.*)$", row)
    if comment is None:
        return Edit(Location(number, 1), Location(number + 1, 1), "")
    return Edit(Location(number, margin + 1), Location(number, comment.start(1) + 1), "")


def dedented(rows: list[str], numbers: range, depth: int) -> Iterator[Edit]:
    """Yield the edits that move rows to the left."""
    for number in numbers:
        row = rows[number - 1]
        blanks = min(depth, len(row) - len(row.lstrip()))
        if blanks and row.strip():
            yield Edit(Location(number, 1), Location(number, 1 + blanks), "")


def inside_with(module: Module, row: int, item: str) -> tuple[Edit, ...] | None:
    """Return the edits that put the simple statement at `row` into a `with` block."""
    rows = LINE_END.split(module.text)
    for node in ast.walk(parsed(module)):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        if not node.lineno <= row <= (node.end_lineno or row):
            continue
        numbers = range(node.lineno, (node.end_lineno or row) + 1)
        margin = rows[node.lineno - 1][: node.col_offset]
        if margin.strip() or not set(numbers).isdisjoint(rows_inside_strings(module.text)):
            return None
        begin = Location(node.lineno, 1)
        header = Edit(begin, Location(node.lineno, 1), f"{margin}with {item}:\n{' ' * STEP}")
        more = [Location(number, 1) for number in numbers[1:] if rows[number - 1].strip()]
        return (header, *(Edit(each, each, " " * STEP) for each in more))
    return None


def rows_inside_strings(text: str) -> set[int]:
    """The rows on which a string goes on that began above."""
    found: set[int] = set()
    begun: list[int] = []
    opening = {getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "TSTRING_START", -1)}
    ending = {getattr(tokenize, "FSTRING_END", -1), getattr(tokenize, "TSTRING_END", -1)}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                found.update(range(token.start[0] + 1, token.end[0] + 1))
            elif token.type in opening:
                begun.append(token.start[0])
            elif token.type in ending:
                found.update(range(begun.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return set(range(1, text.count("\n") + 2))
    return found


def is_at(node: ast.expr, site: Site) -> bool:
    """Return whether a node of CPython's tree is the expression at `site`."""
    start = site.span.start
    line = LINE_END.split(site.module.text)[node.lineno - 1]
    column = len(line.encode()[: node.col_offset].decode()) + 1
    return (node.lineno, column) == (start.row, start.column)


def parsed(module: Module) -> ast.Module:
    """CPython's tree of a module: these edits are made for findings only, which are few."""
    return ast.parse(module.text)
