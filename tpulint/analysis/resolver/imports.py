"""The imports in a file's bytes, found by a search: a file need not be parsed to know them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_IMPORT = re.compile(rb"import(?<!\wimport)[ \t(]")
_FROM = re.compile(rb"(?:^|[:;])[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+$")
_PLAIN = re.compile(rb"(?:^|[:;])[ \t]*$")
_LISTED = re.compile(rb"[ \t]*(\([^)]*\)|(?:[^\n#;\\]|\\\r?\n)*)")
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"(?:^|,)[\s(\\]*([\w.]+|\*)")


class ImportedNames(NamedTuple):
    """`import dotted` (no names), or `from dotted import names` with `level` dots before it."""

    dotted: str
    level: int
    names: tuple[str, ...]


def imports(data: bytes) -> Iterator[ImportedNames]:
    """Every import statement, those in functions and under conditions included."""
    for found in _IMPORT.finditer(data):
        begin = data.rfind(b"\n", 0, found.start()) + 1
        head = data[begin : found.start()]
        origin = _FROM.search(head)
        if origin is None and not _PLAIN.search(head):
            continue
        listed = _LISTED.match(data, found.start() + len(b"import"))
        assert listed is not None
        written = listed.group(1)
        names = _NAME.findall(_COMMENT.sub(b"", written) if b"#" in written else written)
        decoded = tuple(each.decode("utf-8", "replace") for each in names)
        if origin is not None:
            dotted = origin.group(2).decode("utf-8", "replace")
            yield ImportedNames(dotted, len(origin.group(1)), decoded)
        else:
            yield from (ImportedNames(each, 0, ()) for each in decoded)
