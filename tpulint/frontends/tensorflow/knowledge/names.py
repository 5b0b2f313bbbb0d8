"""The public names of TensorFlow by release, with their parameters.

The table `names.tsv` is written by scripts/knowledge.py from the releases themselves. Its
first line lists the releases, oldest first; the release at index i is bit i of every mask.
Then come the distinct parameter lists, and blocks: `.` and a dotted name, then a line for
each name directly in it: the name, its kinds, and where they are known its parameters, as
`mask kind` and `mask:number of the list` (masks in hexadecimal). Kinds: m is a module or a
class whose names are all in the table; o a module with further names; u one that may hold
any name; c, f and x are classes, functions and other values.

Reading it costs nothing before the first question, and a few milliseconds then. Last come the new
names of those that moved; `renames.toml` explains its rows.
"""

from __future__ import annotations

import functools
import os  # not pathlib: a run that finds nothing to read imports this, and has to be quick
import re
from typing import Any, NamedTuple

TABLE = os.path.join(os.path.dirname(__file__), "names.tsv")
ROOT = "tensorflow"
# TensorFlow 2's API by its other name; what TensorFlow 1 has there is not in the table.
V2 = "tensorflow.compat.v2"
# Both generations hold each other's names: `compat.v1.compat.v2.x` is `compat.v2.x`.
NESTED = re.compile(r"^tensorflow(?:\.compat\.v[12])+\.compat\.(v[12])\b")
# The names that either generation lacks, in every release.
NEVER = ("tensorflow.compat.v1.contrib", "tensorflow.compat.v2.contrib")
# Large Model Support: what IBM's builds of TensorFlow add.
OF_OTHER_BUILDS = re.compile(r"tensorflow\.config\.experimental\.[gs]et_lms_\w+")


class NameRow(NamedTuple):
    """One name: the releases that have it, and of these where it is what, as masks.

    complete: all names in it are in the table. anything: it may hold any name.
    parameters: (mask, parameters as they are spelled in the table).
    """

    mask: int
    complete: int
    anything: int
    parameters: tuple[tuple[int, str], ...]


class NamesTable(NamedTuple):
    """The table: block texts are split when they are asked for."""

    releases: tuple[str, ...]
    lists: tuple[str, ...]
    blocks: dict[str, str]


@functools.cache
def table() -> NamesTable:
    with open(TABLE, encoding="utf-8") as stream:
        head, *blocks = stream.read().split("\n.")
    releases, *lists = head.split("\n")
    texts = dict(block.split("\n", 1) for block in blocks)
    return NamesTable(tuple(releases.split("\t")), tuple(lists), texts)


def releases() -> tuple[str, ...]:
    """Return the releases in the table, oldest first."""
    return table().releases


def every() -> int:
    """Return the mask of all releases."""
    return (1 << len(releases())) - 1


@functools.cache
def members(dotted: str) -> dict[str, NameRow]:
    """Return the names directly in the module or class `dotted`."""
    return dict(_row(line, table().lists) for line in table().blocks.get(dotted, "").splitlines())


def _row(line: str, lists: tuple[str, ...]) -> tuple[str, NameRow]:
    name, kinds, *rest = line.split("\t")
    masks = {kind[-1]: int(kind[:-1], 16) for kind in kinds.split(",")}
    pairs = [pair.split(":") for pair in rest[0].split(",")] if rest else []
    parameters = [(int(mask, 16), lists[int(number)]) for mask, number in pairs]
    all_releases = functools.reduce(int.__or__, masks.values())
    return name, NameRow(all_releases, masks.get("m", 0), masks.get("u", 0), tuple(parameters))


@functools.cache
def having(dotted: str) -> int:
    """Return the releases that have, or may have, the full dotted name; all where that is unknown.

    What no TensorFlow 2 has, TensorFlow 1 does not have by the name of TensorFlow 2 either.
    """
    if (dotted + ".").startswith(tuple(absent + "." for absent in NEVER)):
        return 0
    if OF_OTHER_BUILDS.fullmatch(dotted):
        return every()
    dotted, spoken_of = _plain(dotted)
    mask, complete, anything = spoken_of, 0, 0
    base = ROOT
    for part in dotted.split(".")[1:]:
        if part.startswith("_"):
            break
        row = members(base).get(part)
        if row is None:
            mask &= ~complete | anything
            break
        mask &= row.mask | anything
        anything |= row.anything
        complete = row.complete
        base = f"{base}.{part}"
    return mask | every() & ~spoken_of if mask else 0


def is_listed(dotted: str) -> bool:
    """Return whether the table itself has the name, in some release."""
    base, _, name = _plain(dotted)[0].rpartition(".")
    return name in members(base)


@functools.cache
def _plain(dotted: str) -> tuple[str, int]:
    """Return the name as the table has it, and the releases of which the table then speaks."""
    dotted = NESTED.sub(r"tensorflow.compat.\1", dotted)
    if dotted.startswith((V2 + ".", V2 + " ")):
        second = sum(1 << i for i, release in enumerate(releases()) if release.startswith("2."))
        return ROOT + dotted[len(V2) :], second
    return dotted, every()


@functools.cache
def parameters(dotted: str) -> tuple[tuple[int, str], ...]:
    """Return the parameters of the name, by releases; empty where they are not known."""
    dotted, spoken_of = _plain(dotted)
    base, _, name = dotted.rpartition(".")
    row = members(base).get(name)
    rows = () if row is None else row.parameters
    return tuple((mask & spoken_of, spelled) for mask, spelled in rows if mask & spoken_of)


@functools.cache
def with_parameters(dotted: str) -> int:
    """Return the releases whose parameters of the name are known."""
    return functools.reduce(int.__or__, (mask for mask, _ in parameters(dotted)), 0)


@functools.cache
def keywords(dotted: str, releases: int) -> frozenset[str]:
    """Return the keywords that any of `releases` takes, with `**` where one may take any."""
    lists = [spelled for mask, spelled in parameters(dotted) if mask & releases]
    taken = {name.rstrip("=") for spelled in lists for name in spelled.strip("()").split(",")}
    return frozenset(taken) - {"*", "|", ""}


def spoken_of(dotted: str) -> int:
    """Return the releases of which the table says something about the name."""
    return _plain(dotted)[1]


def mask_of(version: str) -> int:
    """Return the releases that stand for `version` ("1.15", "2.x", "2.9"): itself or neighbours.

    None (0) stands for one that is older than all.
    """
    names = releases()
    if version.endswith(".x"):
        return sum(1 << i for i, release in enumerate(names) if release.startswith(version[:-1]))
    if version in names:
        return 1 << names.index(version)
    number = key(version)
    below = [i for i, release in enumerate(names) if key(release) < number]
    above = [i for i, release in enumerate(names) if key(release) > number]
    return sum(1 << i for i in below[-1:] + above[:1]) if below else 0


def generation(number: int) -> int:
    """Return the mask of all releases of a major version."""
    return mask_of(f"{number}.x")


def until(version: str) -> int:
    """Return the mask of all releases up to `version`, which is one of them."""
    return (1 << releases().index(version) + 1) - 1


def after(version: str) -> str:
    """Return the release in the table after `version`."""
    return releases()[releases().index(version) + 1]


def key(version: str) -> tuple[int, ...]:
    """Return the version as numbers, for comparing."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


RENAMES = os.path.join(os.path.dirname(__file__), "renames.toml")


class Rename(NamedTuple):
    """`same`: the same code by another name."""

    old: str
    new: tuple[str, ...]
    same: bool


class Method(NamedTuple):
    """A method of the class `on`, and what to write instead: "" where nothing takes its place."""

    name: str
    on: str
    new: str

    @property
    def path(self) -> str:
        return f"{self.on}.{self.name}"


@functools.cache
def method_names() -> frozenset[str]:
    """Return the names of the methods, without the rest of the table: most files have none."""
    with open(RENAMES, encoding="utf-8") as stream:
        text = stream.read()
    return frozenset(re.findall(r'^\[\[method\]\]\nname = "(\w+)"', text, re.MULTILINE))


@functools.cache
def _renames_table() -> dict[str, Any]:
    # Only now: a run that finds nothing to read needs no TOML.
    from tpulint.frontends.tensorflow.knowledge.tables import load_toml

    return load_toml(RENAMES)


@functools.cache
def renames() -> tuple[Rename, ...]:
    """Return all rows, those of the longest names first."""
    rows = [
        Rename(row["old"], tuple(row["new"]), row.get("same", False))
        for row in _renames_table()["renamed"]
    ]
    return tuple(sorted(rows, key=lambda row: -len(row.old)))


@functools.cache
def methods(section: str = "method") -> dict[str, Method]:
    """Return the methods that only one class has, by their names.

    section: "removed" for those that releases dropped.
    """
    rows = (Method(row["name"], row["on"], row.get("new", "")) for row in _renames_table()[section])
    return {row.name: row for row in rows}


def renamed(dotted: str, releases: int) -> tuple[str, bool] | None:
    """Return the name's successor in one of `releases`, and whether it is the same code there."""
    if dotted.startswith(NEVER):
        dotted = ROOT + dotted[len(V2) :]
    for row in renames():
        if dotted != row.old and not dotted.startswith(row.old + "."):
            continue
        for new in row.new:
            successor = new + dotted[len(row.old) :]
            if is_listed(successor) and having(successor) & releases:
                return successor, row.same
    return None
