"""Plain facts of calls: what TensorFlow, Keras and Python return; `calls.toml` explains its rows.

A team adds rows of its own for its helper libraries: `load` reads any file of this format.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tpulint.frontends.tensorflow.knowledge.tables import load_toml

TABLE = Path(__file__).with_name("calls.toml")
# What a call may return (`returns`), which function it may call (`calls`), what a row may say.
RETURNS = frozenset(
    [
        *("argument", "function", "tensor", "tensors", "operation", "object", "array"),
        *("draw", "number", "context", "unknown"),
    ]
)
CALLS = frozenset(["branches", "loop", "host", "device"])


class CallFacts(NamedTuple):
    """One row. The head of `calls.toml` says what the fields mean."""

    names: tuple[str, ...]
    returns: str = ""
    calls: str = ""
    scope: str = ""
    takes_shape: bool = False
    is_ordered: bool = False
    why: str = ""


class BadRow(ValueError):
    """A row says something that no row can say."""


def parse_row(row: dict[str, Any]) -> CallFacts:
    """Return a row of a TOML file, checked.

    Raises:
        BadRow: a field is unknown, missing, or has a value that it cannot have.
    """
    unknown = row.keys() - set(CallFacts._fields)
    if unknown:
        raise BadRow(
            f"unknown field {sorted(unknown)[0]!r}; fields: {', '.join(CallFacts._fields)}"
        )
    names = row.get("names")
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not (names and is_list):
        raise BadRow("`names` is a list of one or more dotted names")
    facts = CallFacts(**{**row, "names": tuple(names or ())})
    for field, allowed in (("returns", RETURNS), ("calls", CALLS)):
        value = getattr(facts, field)
        if value and value not in allowed:
            raise BadRow(f"{field} = {value!r} of {names[0]}; one of: {', '.join(sorted(allowed))}")
    if not facts.returns and not facts.calls:
        raise BadRow(f"the row of {names[0]} says neither `returns` nor `calls`")
    for field in ("takes_shape", "is_ordered"):
        if type(getattr(facts, field)) is not bool:
            raise BadRow(f"{field} of {names[0]} is true or false")
    return facts


def load(path: Path) -> tuple[CallFacts, ...]:
    """Return the rows of the file at `path`.

    Raises:
        BadRow: as `parse_row`.
    """
    return tuple(parse_row(row) for row in load_toml(path).get("call", []))


@functools.cache
def call_facts() -> tuple[CallFacts, ...]:
    """Return the rows of tpulint's own table."""
    return load(TABLE)


def last_names(rows: Iterable[CallFacts]) -> frozenset[str]:
    """Return the last parts of the names of rows."""
    return frozenset(name.rpartition(".")[2] for row in rows for name in row.names)


@functools.cache
def function_preserving() -> frozenset[str]:
    """Return the last names of decorators that hand back the function that they are given."""
    return last_names(row for row in call_facts() if row.returns == "function")
