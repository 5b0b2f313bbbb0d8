"""An entry of the cache that each check of the same files leaves to the next one."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tpulint.pipeline.program_inputs import TICK
from tpulint.pipeline.run_cache import read_entry, write_entry
from tpulint.pipeline.stamps import Stamps
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch

T = TypeVar("T")
LEFT = 20  # changed files that the next check looks at again: that costs less than to write
BYTES = 64 * 1024 * 1024  # of all entries in a folder; the oldest go first


class KeptEntry:
    """The entry in `folder` for checks of a batch: of these settings, from this current folder.

    Without a cache there is none. One that cannot be read is none.
    """

    def __init__(self, batch: Batch, folder: str, stamps: Stamps) -> None:
        self._stamps = stamps
        self._begun = time.time_ns() - TICK
        self._folder = ""
        if batch.cache is not None and batch.may_keep_findings:
            self._folder = os.path.join(batch.cache, folder)
        head = [package_hash(), sys.version, batch.settings, os.getcwd()] if self._folder else []
        self._unwritten: Callable[[], object] | None = None
        self._name = hashlib.sha256(repr(head).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def is_kept(self) -> bool:
        return bool(self._folder)

    def read(self, decode: Callable[[object], T]) -> T | None:
        """Return what the last check has left; None if there is nothing, or nothing sound."""
        if not self._folder:
            return None
        try:
            return decode(read_entry(self._folder, self._name))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def leave(self, data: Callable[[], object]) -> None:
        """Leave something to the next check: it is made, and written down, by `write`."""
        self._unwritten = data

    def write(self) -> None:
        """Write down what is left to the next check."""
        if self._folder and self._unwritten is not None:
            with suppress(OSError):  # without a cache, the next check does it all again
                write_entry(self._folder, self._name, self._unwritten())
                prune(self._folder)
            self._unwritten = None

    def stamp(self, path: str) -> str | None:
        """Return the stamp of a file; one that never comes back if it may be changing now."""
        found = self._stamps.of(path)
        is_settled = found is None or int(found.rpartition(":")[2]) < self._begun
        return found if is_settled else ""


def prune(folder: str) -> None:
    """Drop the oldest entries of a folder beyond `BYTES`."""
    with os.scandir(folder) as entries:
        seen = sorted((each.stat().st_mtime_ns, each.stat().st_size, each.path) for each in entries)
    total = sum(size for _, size, _ in seen)
    for _, size, path in seen:
        if total <= BYTES:
            break
        os.unlink(path)
        total -= size
