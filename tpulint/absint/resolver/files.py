"""The files of a project: which one an import means, by what is on disk and by nothing else."""

from __future__ import annotations

import os
import sys
from collections import defaultdict

from tpulint.disk import MODULES, Disk

PACKAGE = "__init__.py"
MAX_PARENT_FOLDERS = 8  # folders above a file's outermost package in which its imports may start
# The files at the top of a project: such a folder is no part of a package.
PROJECT_FILES = frozenset(
    ["pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "requirements.txt", "README.md"]
)


class Files:
    """A finder of the file of a dotted name.

    What it asks of `disk` decides its answers. It asks each question once, so that a disk which
    records questions is not slowed down by repetitions. installed: the packages that are not the
    project's even where it has a folder of that name.
    """

    def __init__(self, disk: Disk | None = None, *, installed: frozenset[str]) -> None:
        self.disk = disk or Disk()
        self._installed = installed
        self._folders: dict[str, str] = {}
        self._roots: dict[str, tuple[str, ...]] = {}
        self._located: dict[tuple[str, str], str | None] = {}
        self._text_with_start: dict[tuple[str, str], bool] = {}
        self._children: dict[tuple[str, str], str | None] = {}
        self._listings: dict[str, frozenset[str]] = {}
        self._names: defaultdict[str, dict[str, bool]] = defaultdict(dict)

    def locate(self, path: str, dotted: str, level: int) -> str | None:
        """Return the file that `import dotted` in the file at `path` means, or None outside."""
        parts = dotted.split(".") if dotted else []
        if level:
            folder = self._folder_of(path)
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._find(folder, parts)
        if not parts or parts[0] in self._installed:
            return None
        key = (self._folder_of(path), dotted)
        if key not in self._located:
            self._located[key] = self._search(path, parts)
        return self._located[key]

    def _folder_of(self, path: str) -> str:
        cached = self._folders.get(path)
        if cached is None:
            cached = self._folders[path] = os.path.dirname(path)
        return cached

    def can_resolve(self, path: str, dotted: str) -> bool:
        """Return whether an import of `dotted` can find anything in some root."""
        first = dotted.partition(".")[0]
        if first in self._installed:
            return False
        key = (self._folder_of(path), first)
        if key not in self._text_with_start:
            roots = self._roots_of(key[0])
            self._text_with_start[key] = any(self._holds(root, first) for root in roots)
        return self._text_with_start[key]

    def _search(self, path: str, parts: list[str]) -> str | None:
        """Return the first root that holds the module.

        A mere folder counts where it is a package's.
        """
        for root in self._roots_of(self._folder_of(path)):
            if self._holds(root, parts[0]):
                located = self._find(root, parts)
                if located is not None and (
                    self.is_written(located) or self._owns(root, parts, path)
                ):
                    return located
        return None

    def _holds(self, root: str, name: str) -> bool:
        """Return whether an import of `name` can find anything in a root.

        Python takes a folder without an `__init__` only where nothing else has its name, and its
        own modules do: in a folder that is called `copy`, `import copy` is not that folder.
        """
        if self._has(root, f"{name}.py"):
            return True
        if not self._has(root, name):
            return False
        is_package = name not in sys.stdlib_module_names
        return is_package or self._has(os.path.join(root, name), PACKAGE)

    def _owns(self, root: str, parts: list[str], path: str) -> bool:
        """Return whether a folder without an `__init__` is a package by PEP 420.

        It is for what is in it, and for its neighbours where it holds modules and is not the
        top of another project.
        """
        top = os.path.join(root, parts[0])
        listing = self._all_names(os.path.join(root, *parts))
        is_package = any(name.endswith(".py") for name in listing) and PROJECT_FILES.isdisjoint(
            listing
        )
        return path.startswith(top + os.sep) or is_package

    def child(self, path: str, name: str) -> str | None:
        """Return the file of the module `name` inside the package whose `__init__` is at `path`."""
        if (path, name) not in self._children:
            inside = os.path.dirname(path) if os.path.basename(path) == PACKAGE else None
            self._children[path, name] = self._find(inside, [name]) if inside else None
        return self._children[path, name]

    def is_written(self, path: str) -> bool:
        """Return whether there is such a file: a package without an `__init__` has none."""
        folder, _, name = path.rpartition(os.sep)
        return self._has(folder, name)

    def data(self, path: str) -> bytes:
        """Return the bytes of a file; none where it cannot be read."""
        try:
            return self.disk.read(path)
        except OSError:
            return b""

    def probe_package_roots(self, path: str) -> None:
        """Look into the folders that say in which package the file at `path` is."""
        self._roots_of(os.path.dirname(path))

    def _find(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if not self._has(folder, part):
                return None
            folder = os.path.join(folder, part)
        if not parts:
            return self._package(folder)
        last = parts[-1]
        if self._has(folder, f"{last}.py"):
            return os.path.join(folder, f"{last}.py")
        if self._has(folder, last):
            return self._package(os.path.join(folder, last))
        return None

    def _package(self, folder: str) -> str | None:
        """Return a package's file, its `__init__`, written or not."""
        is_package = self._has(folder, PACKAGE) or self._all_names(folder)
        return os.path.join(folder, PACKAGE) if is_package else None

    def _has(self, folder: str, name: str) -> bool:
        cached = self._names[folder]
        if name not in cached:
            cached[name] = self.disk.has(folder, name)
        return cached[name]

    def _all_names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder."""
        names = self._listings.get(folder)
        if names is None:
            names = self._listings[folder] = self.disk.listing(folder, MODULES)
        return names

    def _roots_of(self, folder: str) -> tuple[str, ...]:
        """Return the folders in which an absolute import in `folder` can start, likeliest first.

        They are the folder itself, which is a script's; the one around the outermost package,
        which is an installed one's; those above it, each with its `src`; and those between,
        which is where programs start that put them on the path. What marks a project (a
        repository's folder, a pyproject.toml) says nothing here: with it and without it a
        program means the same files.
        """
        cached = self._roots.get(folder)
        if cached is not None:
            return cached
        between = []
        start = folder
        while self._has(start, PACKAGE) and os.path.dirname(start) != start:
            between.append(start)
            start = os.path.dirname(start)
        above = []
        climbed = start
        for _ in range(MAX_PARENT_FOLDERS):
            if os.path.dirname(climbed) == climbed:
                break  # no program starts at the root of the disk
            above.append(climbed)
            if self._has(climbed, "src"):
                above.append(os.path.join(climbed, "src"))
            climbed = os.path.dirname(climbed)
        roots = tuple(dict.fromkeys([folder, start, *between, *above]))
        self._roots[folder] = roots
        return roots
