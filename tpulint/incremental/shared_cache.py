"""The findings of programs where several machines can read them: any file system of fsspec.

Each entry is a file of its own under the hash of what it depends on, and says itself whether it is
whole (see `cache_dir`). So machines may write at the same time, also where that takes a while or
breaks off. Nothing is removed; that is left to the storage's own rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class SharedCache:
    """The entries below a URL. After the first failure, of the network say, it is left alone.

    faults: that failure, in words.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[AbstractFileSystem, str] | None = None
        self.faults: list[str] = []

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the entries that are there, all asked for at once."""
        asked = list(names)
        if self.faults or not asked:
            return {}
        try:
            system, folder = self._open()
            contents = system.cat([f"{folder}/{name}" for name in asked], on_error="return")
        except Exception as error:  # each file system has errors of its own
            self._give_up(error)
            return {}
        entries: dict[str, bytes] = {}
        for path, content in contents.items():
            if isinstance(content, bytes):
                entries[path.rpartition("/")[2]] = content
            elif not isinstance(content, FileNotFoundError):
                self._give_up(content)
        return entries

    def write(self, name: str, data: bytes) -> None:
        """Write an entry, if the storage can be used."""
        if self.faults:
            return
        try:
            system, folder = self._open()
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(f"{folder}/{name}", data)
        except Exception as error:  # each file system has errors of its own
            self._give_up(error)

    def _open(self) -> tuple[AbstractFileSystem, str]:
        if self._opened is None:
            from fsspec.core import url_to_fs

            system, folder = url_to_fs(self._url)
            self._opened = system, folder.rstrip("/")
        return self._opened

    def _give_up(self, error: object) -> None:
        if self.faults:
            return
        said = " ".join(str(error).split()) or type(error).__name__
        self.faults.append(f"{self._url} is not used as a cache: {said[:300]}")
