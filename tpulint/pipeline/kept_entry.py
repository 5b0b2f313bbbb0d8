"""An entry of the cache that each check of the same files leaves to the next one."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tpulint.cache_dir import UNSOUND, prune, read_entry, write_entry
from tpulint.pipeline.run_cache import BYTES, decoded, encoded
from tpulint.pipeline.stamps import Stamps
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch

T = TypeVar("T")
LEFT = 20  # changed files that the next check looks at again: that costs less than to write


class KeptEntry:
    """The entry in `folder` for checks of a batch: of these settings, from this current folder.

    Without a cache there is none. One that cannot be read is none.
    """

    def __init__(self, batch: Batch, folder: str, stamps: Stamps) -> None:
        self._stamps = stamps
        self._cache = batch.cache if batch.may_keep_findings else None
        self._folder = folder
        head = [package_hash(), sys.version, batch.settings, os.getcwd()] if self._cache else []
        self._unwritten: Callable[[], object] | None = None
        self._name = hashlib.sha256(repr(head).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def is_kept(self) -> bool:
        return self._cache is not None

    def read(self, decode: Callable[[object], T]) -> T | None:
        """Return what the last check has left; None if there is nothing, or nothing sound."""
        if self._cache is None:
            return None
        try:
            return decode(decoded(read_entry(self._cache, self._folder, self._name)))
        except UNSOUND:
            return None

    def leave(self, data: Callable[[], object]) -> None:
        """Leave something to the next check: it is made, and written down, by `write`."""
        self._unwritten = data

    def write(self) -> None:
        """Write down what is left to the next check."""
        if self._cache is not None and self._unwritten is not None:
            with suppress(OSError):  # without a cache, the next check does it all again
                data = encoded(self._unwritten())
                write_entry(self._cache, self._folder, self._name, data)
                prune(self._cache, self._folder, BYTES)
            self._unwritten = None

    def stamp(self, path: str) -> str | None:
        """Return the stamp of a file; one that never comes back if it may be changing now."""
        return self._stamps.settled(path)
