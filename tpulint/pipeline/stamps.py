"""The size and time of files: if they are as they were, so is the file."""

from __future__ import annotations

import os
from collections.abc import Mapping


class Stamps:
    """The stamps of files in one check, which looks at each once.

    That is before it reads the file: so a later change is one to the next check.
    """

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def of(self, path: str) -> str | None:
        """Return the stamp of a file, None where there is none."""
        if path not in self._known:
            self._known[path] = stamp(path)
        return self._known[path]

    def before(self, edits: Mapping[str, str]) -> Stamps:
        """Return the stamps as they were when those of some files were the ones in `edits`."""
        then = Stamps()
        then._known = {**self._known, **edits}
        return then


def stamp(path: str) -> str | None:
    """Return the size and time of a file as they are now, None where there is none."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_size}:{seen.st_mtime_ns}"
