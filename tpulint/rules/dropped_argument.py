"""Edits that take one keyword argument out of a call, and its comma with it."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.finding import Edit, Location
from tpulint.source import LINE_END

LAYOUT = frozenset(
    [tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT]
)


@dataclass(frozen=True)
class Token:
    """A token of the file that carries meaning."""

    text: str
    start: Location
    end: Location


def dropped(call: ApiCall, argument: Argument) -> tuple[Edit, ...] | None:
    """The edits without `argument`; comments stay. None where the call's text is not as read."""
    rows = LINE_END.split(argument.site.module.text)
    tokens = _tokens(call, rows)
    span = argument.site.span
    if not tokens:
        return None
    first = [each.start for each in tokens].index(span.start)
    if tokens[first].text != argument.keyword:
        return None  # it is one of several in `**options`
    before = tokens[first - 1]
    after = tokens[[each.end for each in tokens].index(span.end) + 1]
    if after.text == ",":
        return (_with_comma_after(rows, span.start, after.end),)
    if before.text != ",":
        return (Edit(span.start, span.end, ""),)
    comma = Edit(before.start, before.end, "")
    return (comma, _with_comma_after(rows, span.start, span.end))


def _with_comma_after(rows: list[str], start: Location, end: Location) -> Edit:
    """Return the edit that removes `start` to `end`, with the blanks or rows left empty."""
    head = rows[start.row - 1][: start.column - 1]
    tail = rows[end.row - 1][end.column - 1 :]
    if not head.strip() and not tail.strip():
        return Edit(Location(start.row, 1), Location(end.row + 1, 1), "")
    if head.strip() and tail.lstrip()[:1] in ("", "#", ")"):
        return Edit(Location(start.row, len(head.rstrip()) + 1), end, "")
    blanks = len(tail) - len(tail.lstrip())
    return Edit(start, Location(end.row, end.column + blanks), "")


def _tokens(call: ApiCall, rows: list[str]) -> list[Token]:
    """The tokens of the call's text; empty where it cannot be split into tokens."""
    span = call.site.span
    inside = rows[span.start.row - 1 : span.end.row]
    inside[-1] = inside[-1][: span.end.column - 1]
    inside[0] = inside[0][span.start.column - 1 :]
    text = "\n".join(inside)

    def place(row: int, column: int) -> Location:
        return Location(span.start.row + row - 1, column + (span.start.column if row == 1 else 1))

    try:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [
        Token(each.string, place(*each.start), place(*each.end))
        for each in found
        if each.type not in LAYOUT
    ]
