"""Scans of a text, before it is read."""

from __future__ import annotations

import functools
import re

# Comments and strings, each whole, as none begins inside another. Each begins with its letter:
# then they are searched as fast as letters are.
_NO_CODE = re.compile(
    r"#[^\n]*"
    r"|'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"",
    re.DOTALL,
)
_HOLDS_CODE = re.compile(r"\b(?:[fFtT][rR]?|[rR][fFtT])$")  # before a string


def code_of(text: str) -> str:
    """Return a module's text without comments, and without strings that hold no expressions."""
    return _NO_CODE.sub(_left, text)


def _left(found: re.Match[str]) -> str:
    written = found.group()
    if written.startswith("#"):
        return ""
    begin = found.start()
    return written if _HOLDS_CODE.search(found.string, max(begin - 3, 0), begin) else "''"


def stands(name: str, text: str) -> bool:
    """Return whether `text` holds `name`, and not only as a part of a longer one."""
    return name in text and _whole(name).search(text) is not None


def may_be_set(name: str, text: str) -> bool:
    """Return whether an attribute `name` may be set in `text`: not only called or gone into."""
    return f".{name}" in text and _last(name).search(text) is not None


@functools.lru_cache(maxsize=512)
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


@functools.lru_cache(maxsize=512)
def _last(name: str) -> re.Pattern[str]:
    return re.compile(rf"\.{re.escape(name)}\b(?![ \t]*[(.\[])")
