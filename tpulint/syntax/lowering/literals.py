"""The values of strings and numbers as they are written."""

from __future__ import annotations

import ast
import functools

QUOTES = ('"""', "'''", '"', "'")


def literal(text: str) -> object:
    """The value of a string or number; None where CPython takes it for no literal.

    Most strings are what stands between their quotes, so CPython is not asked about them.
    """
    if text[0] in "\"'" and "\\" not in text and "\r" not in text:
        quotes = next(each for each in QUOTES if text.startswith(each))
        if len(text) >= 2 * len(quotes):
            return text[len(quotes) : -len(quotes)]
    return _evaluated(text)


@functools.lru_cache(maxsize=1024)
def _evaluated(text: str) -> object:
    """Return what CPython makes of it; cached, as the same few numbers are everywhere."""
    try:
        value: object = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return value
