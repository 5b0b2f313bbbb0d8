"""The parts of a run: all its files, and each program among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tpulint.disk import DISK, Disk

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings


class Run(NamedTuple):
    """All files of a run, in one order wherever it was started, and how they are read.

    context: those among them that nothing is reported of. checkpoint: called between rules; it
    raises to end the run. disk: where the files are.
    """

    filenames: tuple[str, ...]
    context: frozenset[str]
    given: Mapping[str, bytes]
    codes: frozenset[str]
    settings: Settings
    cache: str | None
    checkpoint: Callable[[], None] | None = None
    disk: Disk = DISK


class Job(NamedTuple):
    """One program: its seeds, and by path the certainty with which soft placement is on."""

    seeds: tuple[str, ...]
    placed: tuple[tuple[str, str], ...]
    size: int  # the files that it reaches
    isolated: int = 0  # the processes that parse it, where one died of it before
