"""Hand-written facts: TOML files beside this one, each read when it is first asked for.

`folders.toml`: paths that only the program's own machine has. `raised_errors.toml`: the rules whose
faults raise an error. `calls.toml`: what calls of TensorFlow, Keras and Python return. The heads of
the files explain their rows. A team adds rows of its own for its helper libraries: `load` reads any
file of the format of `calls.toml`.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from tpulint.frontends.tensorflow.knowledge.tf_names import words


def load_toml(path: str) -> dict[str, Any]:
    """Return the content of the TOML file at `path`."""
    # The standard library reads TOML only from Python 3.11 on.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    with open(path, "rb") as file:
        return tomllib.load(file)


HERE = os.path.dirname(__file__)
FOLDERS = os.path.join(HERE, "folders.toml")
RAISED_ERRORS = os.path.join(HERE, "raised_errors.toml")
# A bare name with an ending is a file; without one it may be anything that a package resolves.
_NAME = re.compile(r"[\w.*?-]+\.\w+")
LISTED_HERE = "file://"  # how some path starts that Python lists on this machine


@functools.cache
def _local() -> tuple[str, ...]:
    return tuple(row["starts"] for row in load_toml(FOLDERS)["local"])


def is_local_path(path: str) -> bool:
    """Return whether `path`, or its known beginning, leads to the program's own machine.

    The working directory is before one with neither a scheme nor a root.
    """
    first, slash, _ = path.partition("/")
    is_relative = bool(first) and ":" not in first
    return path.startswith(_local()) or (is_relative and bool(slash or _NAME.fullmatch(path)))


class RaisedError(NamedTuple):
    """One row: an error of TensorFlow, Keras or CPython.

    `anywhere`: the finding need not be at a line that the error has passed.
    """

    type: str
    text: re.Pattern[str]
    rules: tuple[str, ...]
    anywhere: bool
    source: str


class FaultRow(NamedTuple):
    """An error of the runtime: the other rules that may be behind it, and `anywhere` as above."""

    rules: tuple[str, ...]
    anywhere: bool


@functools.cache
def raised_errors() -> tuple[RaisedError, ...]:
    """Return all rows."""
    return tuple(
        RaisedError(
            row["type"],
            text_pattern(row["text"]),
            tuple(row["rules"]),
            row.get("anywhere", False),
            row.get("source", row.get("through", "")),
        )
        for row in load_toml(RAISED_ERRORS)["error"]
    )


# Messages of errors name variables and shapes: no release writes them alike for two programs.
def text_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for `text`, in which `{}` stands for what differs from error to error."""
    return re.compile(".*?".join(map(re.escape, text.split("{}"))), re.DOTALL)


def raised_error(
    types: Collection[str], message: str, filenames: Iterable[str]
) -> RaisedError | None:
    """Return the row of an error of one of `types` that has passed these files, or None."""
    passed = tuple(filenames)
    for row in raised_errors():
        has_passed = not row.anywhere or any(name.endswith(row.source) for name in passed)
        if has_passed and row.type in types and row.text.search(message):
            return row
    return None


@functools.cache
def runtime_fault(rule: str) -> FaultRow:
    """Return what is known of an error of the runtime that names `rule`."""
    for row in load_toml(RAISED_ERRORS)["fault"]:
        if row["rule"] == rule:
            return FaultRow(tuple(row.get("rules", ())), row.get("anywhere", False))
    return FaultRow((), False)


TABLE = os.path.join(HERE, "calls.toml")
# What a call may return (`returns`), which function it may call (`calls`), what a row may say.
RETURNS = words("""
    argument function tensor tensors operation object array draw number context setting unknown
""")
CALLS = words("branches loop host device")


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
        raise BadRow(f"unknown field {min(unknown)!r}; fields: {', '.join(CallFacts._fields)}")
    names = row.get("names")
    if not (names and isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise BadRow("`names` is a list of one or more dotted names")
    facts = CallFacts(**{**row, "names": tuple(names)})
    for field, allowed in (("returns", RETURNS), ("calls", CALLS)):
        value = getattr(facts, field)
        if value and not (isinstance(value, str) and value in allowed):
            raise BadRow(f"{field} = {value!r} of {names[0]}; one of: {', '.join(sorted(allowed))}")
    if not facts.returns and not facts.calls:
        raise BadRow(f"the row of {names[0]} says neither `returns` nor `calls`")
    for field in ("takes_shape", "is_ordered"):
        if type(getattr(facts, field)) is not bool:
            raise BadRow(f"{field} of {names[0]} is true or false")
    return facts


def load(path: str) -> tuple[CallFacts, ...]:
    """Return the rows of the file at `path`.

    Raises:
        BadRow: as `parse_row`.
    """
    return tuple(parse_row(row) for row in load_toml(path).get("call", []))


@functools.cache
def call_facts() -> tuple[CallFacts, ...]:
    """Return the rows of tpulint's own table."""
    return load(TABLE)


@functools.cache
def function_preserving() -> frozenset[str]:
    """Return the last names of decorators that hand back the function that they are given."""
    rows = [row for row in call_facts() if row.returns == "function"]
    return frozenset(name.rpartition(".")[2] for row in rows for name in row.names)
