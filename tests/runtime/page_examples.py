"""The examples of a page of docs/: a program, and below it what it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_EXAMPLE = re.compile(r"```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


class Example(NamedTuple):
    """A program of a page and the text that is below it."""

    program: str
    expected: str


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def examples_of(page: str) -> list[Example]:
    return [Example(*match.groups()) for match in _EXAMPLE.finditer(text_of(page))]


def printed_by(program: str) -> str:
    """Return the output of the program; its lines are numbered from the block's first one."""
    code = compile(program, "example.py", "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    return printed.getvalue()
