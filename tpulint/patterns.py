"""Path patterns of a configuration, with ruff's meaning.

A pattern without a slash fits a file's or directory's own name, one with a slash
the path below the configuration's directory; `*` crosses slashes in both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

MAGIC = re.compile(r"[*?\[]")


class Patterns:
    """A matcher of paths against `patterns`; plain names cost one set look-up."""

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        given = [pattern.removeprefix("./").rstrip("/") for pattern in patterns]
        self.root = os.path.abspath(root)
        self.names = {each for each in given if "/" not in each and not MAGIC.search(each)}
        self.globs = compiled(each for each in given if "/" not in each and MAGIC.search(each))
        self.paths = compiled(
            os.path.normpath(os.path.join(self.root, each)) for each in given if "/" in each
        )

    def fit(self, path: str, name: str) -> bool:
        """Return whether the absolute `path`, whose last part is `name`, fits."""
        if name in self.names:
            return True
        if self.globs is not None and self.globs.match(name):
            return True
        return self.paths is not None and self.paths.match(path) is not None

    def fit_within(self, path: str) -> bool:
        """Return whether the absolute `path` or a directory above it, below the root, fits."""
        while path != self.root:
            above, name = os.path.split(path)
            if self.fit(path, name):
                return True
            if above == path:
                return False
            path = above
        return False


def compiled(globs: Iterable[str]) -> re.Pattern[str] | None:
    import fnmatch

    parts = [fnmatch.translate(each) for each in globs]
    return re.compile("|".join(parts)) if parts else None
