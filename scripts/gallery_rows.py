"""The gallery's programs and environments, as scripts/gallery.toml has them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("gallery.toml")


@dataclass(frozen=True)
class Environment:
    """A TensorFlow, and packages over it that are installed without their dependencies."""

    name: str
    tensorflow: str
    requirements: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A program; `{data}`, `{out}`, `{replicas}` and `{tpu}` are filled in for each run.

    `{records}` is a file of its data, which without a pod has the order of the pod's replicas.
    """

    name: str
    release: str
    module: str
    """A module of the release, or a file of this repository."""
    kind: str
    """The kind of training: with a TPUEstimator, in a loop of its own, or with Keras' `fit`."""
    environment: Environment
    arguments: tuple[str, ...]
    loss: str
    """A pattern: its last match in what the program prints is the loss."""
    data: str = ""
    """The kind of data in gallery_data.py, where the program does not make its own."""
    on_tpu: tuple[str, ...] = ()
    without_tpu: tuple[str, ...] = ()
    compared: str = "mirrored"
    """The source of the expected loss: the program under MirroredStrategy ("mirrored"),
    gallery_by_hand.py ("by-hand"), or gallery_mesh.py ("placed")."""
    checkpoint: str = ""
    """The checkpoint of step 0, with which the expected loss is computed from the same values."""
    pods: tuple[int, ...] = ()
    """The numbers of hosts on which the program's largest run is made once more."""


def sizes(program: Program, replicas: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the replicas and hosts of each of the program's runs."""
    several = sorted(replicas)
    yield from ((number, 1) for number in several)
    yield from ((several[-1], hosts) for hosts in program.pods)


@dataclass(frozen=True)
class Gallery:
    """All programs, and the releases that no supported TensorFlow can import, with the reason."""

    programs: tuple[Program, ...]
    left_out: dict[str, str]


def read() -> Gallery:
    """Return the table of the gallery."""
    environments, table = read_table(TABLE)
    programs = tuple(
        _program(name, dict(row), environments) for name, row in table["programs"].items()
    )
    return Gallery(programs, table["left-out"])


def read_table(path: Path) -> tuple[dict[str, Environment], dict[str, Any]]:
    """Return the environments of a table by name, and the whole table."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    environments = {
        name: Environment(name, row["tensorflow"], tuple(row["requirements"]))
        for name, row in table["environments"].items()
    }
    return environments, table


def _program(name: str, row: dict[str, Any], environments: dict[str, Environment]) -> Program:
    row["environment"] = environments[row["environment"]]
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Program(name=name, **{**row, **lists})
