"""libcst's tree of a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst


def tree_of(text: str) -> libcst.Module:
    """The tree of `text`; what libcst asks of nodes made by hand is not asked of parsed ones.

    Raises:
        libcst.ParserSyntaxError: it cannot be parsed.
    """
    with _unchecked():
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
