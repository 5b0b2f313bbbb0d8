"""libcst's tree of a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst

from tpulint.syntax.deep_stack import deeply, until_done


def tree_of(text: str) -> libcst.Module:
    """The tree of `text`; what libcst asks of nodes made by hand is not asked of parsed ones.

    Raises:
        libcst.ParserSyntaxError: it cannot be parsed.
    """
    return deeply(lambda: _tree_of(text))


def _tree_of(text: str) -> libcst.Module:
    if libcst.CSTNode.__post_init__ is not _nothing:
        # Changing a class makes CPython forget what it knows of all classes below it: once costs
        # enough, so this holds for everything that the thread will parse.
        until_done(_unchecked())
    return libcst.parse_module(text)


@contextmanager
def _unchecked() -> Iterator[None]:
    """A seventh of the time of a parse goes into checks that its result passes by its making."""
    checked = libcst.CSTNode.__post_init__
    libcst.CSTNode.__post_init__ = _nothing  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        libcst.CSTNode.__post_init__ = checked  # type: ignore[method-assign]


def _nothing(node: libcst.CSTNode) -> None:
    """In place of the checks."""
