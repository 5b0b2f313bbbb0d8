"""Rows on which no rule can report anything, whatever the rest of the program does."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Collection

from tpulint.source import Source

CONSTANT = frozenset(("True", "False", "None", "pass", "break", "continue"))
LAYOUT = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)


def are_bare(source: Source, rows: Collection[int]) -> bool:
    """Return whether each of the rows is empty, or only gives a constant to names.

    A finding is reported at a call, a name that is read, an import or a definition; what cannot
    be tokenized is not bare.
    """
    statement: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
            if token.type not in LAYOUT:
                statement.append(token)
            elif token.type == tokenize.NEWLINE:
                first, last = statement[0].start[0], statement[-1].end[0]
                if any(first <= row <= last for row in rows) and not is_constant(statement):
                    return False
                statement = []
    except (tokenize.TokenError, SyntaxError, ValueError):
        return False
    return not statement


def is_constant(statement: list[tokenize.TokenInfo]) -> bool:
    """Return whether it is `pass`, a constant, or `name = ... = constant`."""
    *targets, value = statement
    names, signs = targets[::2], targets[1::2]
    return (
        (value.type in (tokenize.NUMBER, tokenize.STRING) or value.string in CONSTANT)
        and len(names) == len(signs)
        and all(each.type == tokenize.NAME for each in names)
        and all(each.string == "=" for each in signs)
    )
