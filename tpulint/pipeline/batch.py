"""The units of an analysis: a batch of files under the same settings, and each program in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.disk import DISK, Disk

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings


class Batch(NamedTuple):
    """All files that are analyzed under the same settings.

    filenames: in one order, wherever the check was started. context: those among them of which
    nothing is reported. given: the bytes of files that are not (or not yet) on disk.
    cache: a folder for findings, None for none. checkpoint: called between rules;
    it raises to end the analysis. disk: what the other files are read from. shared: the URL of
    a cache that other machines have, too.
    """

    filenames: tuple[str, ...]
    context: frozenset[str]
    given: Mapping[str, bytes]
    codes: frozenset[str]
    settings: Settings
    cache: str | None
    checkpoint: Callable[[], None] | None = None
    disk: Disk = DISK
    shared: str | None = None

    @property
    def may_keep_findings(self) -> bool:
        """Return whether findings may be kept on disk: those in unsaved bytes may not."""
        return self.cache is not None and not self.given

    @property
    def needs_inputs(self) -> bool:
        """Return whether findings may be kept, here or on the machine that has the files."""
        return self.may_keep_findings or self.disk is not DISK


class Job(NamedTuple):
    """One program: its seeds, and by path the certainty with which soft placement is on."""

    seeds: tuple[str, ...]
    placed: tuple[tuple[str, str], ...]
    size: int  # the files that it reaches


def in_order(filenames: Sequence[str], context: Collection[str]) -> tuple[str, ...]:
    """Return the files of a batch in the order in which they are analyzed."""
    return tuple(sorted((*filenames, *context), key=os.path.abspath))
