"""The files and folders that are read, as the operating system has them.

Only regular files are read, up to a size: any name may be a link to a device, or a FIFO, which
has no end or never answers. What reads a program asks a `Disk`, so that its questions can be
recorded, and another machine can read a program out of memory.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

MEBIBYTE = 1024 * 1024
SOURCE_LIMIT_BYTES = 10 * MEBIBYTE
NOTEBOOK_LIMIT_BYTES = 50 * MEBIBYTE  # most of it are the images and texts that cells print
CONFIGURATION_LIMIT_BYTES = MEBIBYTE
OWN_FILE_LIMIT_BYTES = 1024 * MEBIBYTE  # of what tpulint writes itself: reports, cache entries
CHUNK_BYTES = MEBIBYTE
# Nothing waits for the writer of a FIFO, and no terminal becomes that of this process.
_OPEN = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK")
)


def absolute_paths(names: Iterable[str]) -> list[str]:
    """Return the absolute paths of many files, whose names mostly have nothing to normalize."""
    here = os.path.join(os.getcwd(), "")
    if os.sep != "/":
        return [os.path.abspath(name) for name in names]
    return [
        os.path.abspath(name)
        if "./" in name or "//" in name
        else (name if name[:1] == "/" else here + name)
        for name in names
    ]


class PassedOver(NamedTuple):
    """A file that was not read for what it is."""

    path: str
    reason: str
    is_too_large: bool


_passed_over: dict[str, PassedOver] = {}


class NotRegularFileError(OSError):
    """A device, a FIFO, a socket: what is read for its name, and is no file."""


class TooLargeFileError(OSError):
    """A file beyond the limit of its kind."""


class UnreadableSource(Exception):
    """A file that gives no Python text: `reason` in words, at `row` and `column` (1-based)."""

    def __init__(self, reason: str, row: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or in it, when all links are resolved."""
    full, top = os.path.realpath(path), os.path.realpath(folder)
    return full == top or full.startswith(os.path.join(top, ""))


def limit_of(path: str) -> int:
    """Return how many bytes of a file with this name are read."""
    return NOTEBOOK_LIMIT_BYTES if path.endswith(".ipynb") else SOURCE_LIMIT_BYTES


def package_text(module: str, name: str) -> str:
    """Return the text of a file of the package, which is in the directory of the file `module`."""
    return read_regular(os.path.join(os.path.dirname(module), name)).decode()


def read_regular(path: str, limit_bytes: int | None = None) -> bytes:
    """Return the bytes of a file. Raises OSError, also for one that is not regular or too large.

    Those two are noted: see `take_passed_over`.
    """
    limit = limit_of(path) if limit_bytes is None else limit_bytes
    _refuse(path, os.stat(path), limit)  # to open a device may do something
    descriptor = os.open(path, _OPEN)
    try:
        _refuse(path, os.fstat(descriptor), limit)  # it may be another file by now
        data = bytearray()
        while chunk := os.read(descriptor, CHUNK_BYTES):
            data += chunk
            if len(data) > limit:
                raise _too_large(path, limit)
        return bytes(data)
    finally:
        os.close(descriptor)


def hash_of_files(top: str, endings: tuple[str, ...], apart: Collection[str] = ()) -> str:
    """Return the hash of the names and contents of files below a folder, except those `apart`."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in apart)
        for name in sorted(names):
            if name.endswith(endings):
                path = os.path.join(folder, name)
                try:
                    content = hashlib.sha256(read_regular(path)).hexdigest()
                except OSError:
                    content = ""
                place = os.path.relpath(path, top)
                digest.update(f"{place}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def require_readable(path: str, limit_bytes: int | None = None) -> None:
    """Raise OSError where `read_regular` would for what a file is, and read nothing of it."""
    _refuse(path, os.stat(path), limit_of(path) if limit_bytes is None else limit_bytes)


def take_passed_over() -> tuple[PassedOver, ...]:
    """Return the files that were passed over in this process since the last call."""
    taken = tuple(_passed_over.values())
    _passed_over.clear()
    return taken


def note_passed_over(files: tuple[PassedOver, ...]) -> None:
    """Note files that another process has passed over."""
    _passed_over.update({file.path: file for file in files})


def _refuse(path: str, seen: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(seen.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(seen.st_mode):
        reason = "it is not a regular file"
        _passed_over[path] = PassedOver(path, reason, is_too_large=False)
        raise NotRegularFileError(errno.EINVAL, reason, path)
    if seen.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: str, limit: int) -> TooLargeFileError:
    reason = f"it is larger than {limit // MEBIBYTE} MiB"
    _passed_over[path] = PassedOver(path, reason, is_too_large=True)
    return TooLargeFileError(errno.EFBIG, reason, path)


# The kinds of names that a folder is asked for: a name of another kind changes no answer.
# Files that may say for which releases of its libraries a project is written.
REQUIREMENT_FILES = re.compile(
    r"requirements[\w.-]*\.(?:txt|in)|setup\.(?:py|cfg)|pyproject\.toml|environment[\w-]*\.ya?ml"
    r"|Pipfile"
)
README_FILES = re.compile(r"readme(?:\.\w+)?", re.IGNORECASE)

MODULES, REQUIREMENTS, CHILD_FOLDERS = "modules", "requirements", "child folders"


def may_be_folder(name: str) -> bool:
    """Return whether a name has no ending, as that of a folder."""
    return "." not in name and name != "__pycache__"


class Disk:
    """The disk as one check sees it: each folder is listed once, and unsaved files are on it.

    `unsaved` holds the bytes of files that an editor has, or standard input.
    """

    def __init__(self, unsaved: Mapping[str, bytes] | None = None) -> None:
        self.unsaved = {os.path.abspath(name): data for name, data in (unsaved or {}).items()}
        self._listings: dict[str, frozenset[str]] = {}

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        """Return the bytes of the file at `path` (absolute). Raises OSError."""
        data = self.unsaved.get(path)
        return read_regular(path, limit_bytes) if data is None else data

    def has(self, folder: str, name: str) -> bool:
        return name in self._listing(folder)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at `path` (absolute)."""
        return self.has(*os.path.split(path))

    def listing(self, folder: str, kind: str) -> frozenset[str]:
        """Return the names in a folder; the caller uses only those of the `kind`."""
        return self._listing(folder)

    def _listing(self, folder: str) -> frozenset[str]:
        names = self._listings.get(folder)
        if names is None:
            try:
                listed = os.listdir(folder)
            except OSError:
                listed = []
            below = folder + os.sep
            unsaved = (path for path in self.unsaved if path.startswith(below))
            names = frozenset([*listed, *(path[len(below) :].split(os.sep)[0] for path in unsaved)])
            self._listings[folder] = names
        return names
