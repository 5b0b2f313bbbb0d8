"""The files and folders that a program is read from, as the operating system has them.

What reads a program asks for them here, so that another machine can read one out of memory.
"""

from __future__ import annotations

import os


class Disk:
    """The disk of this machine. A path that cannot be read is an OSError."""

    def read(self, path: str) -> bytes:
        with open(path, "rb") as stream:
            return stream.read()

    def in_memory(self, path: str) -> bytes | None:
        """The bytes of a file where they are here already; None where the disk has to be asked."""
        return None

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)


DISK = Disk()
