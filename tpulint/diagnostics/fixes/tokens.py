"""The tokens of an expression in a module's text, with their places in the file."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass

from tpulint.analysis.domain.site import Module, Site
from tpulint.finding import Location, Span
from tpulint.source import LINE_END

LAYOUT = frozenset(
    [
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.COMMENT,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    ]
)
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True)
class Token:
    """A token of the file that carries meaning."""

    text: str
    start: Location
    end: Location


def text_of(module: Module, span: Span) -> str:
    """Return the source of a span of the module."""
    rows = LINE_END.split(module.text)[span.start.row - 1 : span.end.row]
    rows[-1] = rows[-1][: span.end.column - 1]
    rows[0] = rows[0][span.start.column - 1 :]
    return "\n".join(rows)


def tokens_of(site: Site) -> list[Token]:
    """Return the tokens of an expression; empty where its text cannot be split into tokens."""
    start = site.span.start
    text = f"({text_of(site.module, site.span)})"  # in brackets its rows may be indented in any way

    def place(row: int, column: int) -> Location:
        return Location(start.row + row - 1, column + (start.column - 1 if row == 1 else 1))

    try:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    tokens = [
        Token(each.string, place(*each.start), place(*each.end))
        for each in found
        if each.type not in LAYOUT
    ]
    return tokens[1:-1]


def closing(tokens: list[Token], opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += tokens[index].text in OPENING
        depth -= tokens[index].text in CLOSING
        if depth == 0:
            return index
    raise ValueError("no bracket closes it")


def opening_of_call(tokens: list[Token]) -> int | None:
    """Return the index of the bracket in which the arguments of a call begin."""
    if not tokens or tokens[-1].text != ")":
        return None
    for index, each in enumerate(tokens):
        if each.text == "(" and closing(tokens, index) == len(tokens) - 1:
            return index
    return None
