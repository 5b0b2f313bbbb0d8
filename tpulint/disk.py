"""The files and folders that are read, as the operating system has them.

Only regular files are read, up to a size: any name may be a link to a device, or a FIFO, which
has no end or never answers. What reads a program asks for it here, so that another machine can
read one out of memory.
"""

from __future__ import annotations

import errno
import os
import stat
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


def limit_of(path: str) -> int:
    """Return how many bytes of a file with this name are read."""
    return NOTEBOOK_LIMIT_BYTES if path.endswith(".ipynb") else SOURCE_LIMIT_BYTES


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
    _passed_over.update({each.path: each for each in files})


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


class Disk:
    """The disk of this machine. A path that cannot be read is an OSError."""

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        return read_regular(path, limit_bytes)

    def in_memory(self, path: str) -> bytes | None:
        """Return the bytes of a file where they are here already.

        It is None where the disk has to be asked.
        """
        return None

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)


DISK = Disk()
