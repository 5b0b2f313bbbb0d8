"""The new names of names that TensorFlow moved; `renames.toml` explains its rows."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

from tpulint.knowledge import names
from tpulint.knowledge.typed import typed

TABLE = Path(__file__).with_name("renames.toml")


class Rename(NamedTuple):
    """`same`: the same code by another name."""

    old: str
    new: tuple[str, ...]
    same: bool


class Method(NamedTuple):
    """An attribute of objects of the class `on`; `new` is "" where nothing takes its place."""

    name: str
    on: str
    new: str

    @property
    def path(self) -> str:
        return f"{self.on}.{self.name}"


@functools.cache
def method_names() -> frozenset[str]:
    """Return the names of the methods, without the rest of the table: most files have none."""
    text = TABLE.read_text(encoding="utf-8")
    return frozenset(re.findall(r'^\[\[method\]\]\nname = "(\w+)"', text, re.MULTILINE))


@functools.cache
def _table() -> dict[str, Any]:
    return typed(TABLE)


@functools.cache
def renames() -> tuple[Rename, ...]:
    """All rows, those of the longest names first."""
    rows = [
        Rename(row["old"], tuple(row["new"]), row.get("same", False)) for row in _table()["renamed"]
    ]
    return tuple(sorted(rows, key=lambda row: -len(row.old)))


@functools.cache
def methods() -> dict[str, Method]:
    """Return the methods by their names."""
    rows = [Method(row["name"], row["on"], row.get("new", "")) for row in _table()["method"]]
    return {row.name: row for row in rows}


def renamed(dotted: str, releases: int) -> tuple[str, bool] | None:
    """Return the name's successor in one of `releases`, and whether it is the same code there."""
    if dotted.startswith(names.NEVER):
        dotted = names.ROOT + dotted[len(names.V2) :]
    for row in renames():
        if dotted != row.old and not dotted.startswith(row.old + "."):
            continue
        for new in row.new:
            found = new + dotted[len(row.old) :]
            if names.is_listed(found) and names.having(found) & releases:
                return found, row.same
    return None
