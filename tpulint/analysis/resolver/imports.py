"""The imports in a file's bytes, found by a search: a file need not be parsed to know them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import chain, starmap
from typing import NamedTuple, TypeAlias

Written: TypeAlias = "tuple[bytes, bytes]"

_IMPORT = re.compile(rb"import(?<!\wimport)[ \t(]")
_FROM = re.compile(rb"(?:^|[:;])[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+$")
_PLAIN = re.compile(rb"(?:^|[:;])[ \t]*$")
_LISTED = re.compile(rb"[ \t]*(\([^)]*\)|[^\n#;\\]*(?:\\\r?\n[^\n#;\\]*)*)")
_ENDS = (b":", b";")  # of what stands before a statement in its row
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"(?:^|,)[\s(\\]*([\w.]+|\*)")


class ImportedNames(NamedTuple):
    """`import dotted` (no names), or `from dotted import names` with `level` dots before it."""

    dotted: str
    level: int
    names: tuple[str, ...]


def imports(data: bytes) -> Iterator[ImportedNames]:
    """Every import statement, those in functions and under conditions included."""
    return chain.from_iterable(starmap(imported_names, statements(data)))


def statements(data: bytes) -> Iterator[Written]:
    """Yield what may be an import statement, as it is written: before `import`, and after it."""
    for found in _IMPORT.finditer(data):
        before = data[data.rfind(b"\n", 0, found.start()) + 1 : found.start()]
        if before.strip() and not (b"from" in before or before.rstrip().endswith(_ENDS)):
            continue  # the word is in prose, or in a string
        listed = _LISTED.match(data, found.start() + len(b"import"))
        assert listed is not None
        yield before, listed.group(1)


@functools.lru_cache(maxsize=1 << 14)  # most modules import what many others do
def imported_names(before: bytes, listed: bytes) -> tuple[ImportedNames, ...]:
    """Return what is imported; nothing where the words are no statement."""
    origin = _FROM.search(before)
    if origin is None and not _PLAIN.search(before):
        return ()
    names = _NAME.findall(_COMMENT.sub(b"", listed) if b"#" in listed else listed)
    decoded = tuple(each.decode("utf-8", "replace") for each in names)
    if origin is None:
        return tuple(ImportedNames(each, 0, ()) for each in decoded)
    dotted = origin.group(2).decode("utf-8", "replace")
    return (ImportedNames(dotted, len(origin.group(1)), decoded),)
