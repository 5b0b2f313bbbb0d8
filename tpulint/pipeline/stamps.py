"""The stamps of files: if one is as it was, so is the file.

An edit may keep the size and the time of a file, and a link may lead to another file that has the
same: so a stamp holds the inode as well, and the time of its last change, which nobody can set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

TICK = 10_000_000  # nanoseconds: how far the times of files may lag behind


class Stamps:
    """The stamps of files in one check, which looks at each once.

    That is before it reads the file: so a later change is one to the next check.
    """

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._begun = time.time_ns() - TICK

    def of(self, path: str) -> str | None:
        """Return the stamp of a file, None where there is none."""
        if path not in self._known:
            self._known[path] = stamp(path)
        return self._known[path]

    def settled(self, path: str) -> str | None:
        """Return the stamp of a file; one that never comes back if it may be changing now."""
        seen = self.of(path)
        return seen if seen is None or _changed_at(seen) < self._begun else ""

    def before(self, edits: Mapping[str, str]) -> Stamps:
        """Return the stamps as they were when those of some files were the ones in `edits`."""
        then = Stamps()
        then._known = {**self._known, **edits}
        return then


def stamp(path: str) -> str | None:
    """Return the stamp of a file as it is now, None where there is none."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_size}:{seen.st_ino}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"


def changed_at(path: str) -> int:
    """Return when a file or folder was changed last, in nanoseconds; 0 where there is none."""
    seen = stamp(path)
    return 0 if seen is None else _changed_at(seen)


def _changed_at(stamp_of_file: str) -> int:
    return max(map(int, stamp_of_file.split(":")[2:]))
