"""A part of the disk that travels with a program to another machine.

`RecordingDisk` is the disk, and remembers its answers; `DiskSnapshot` gives the same answers on
another machine. Where it does not have one it does not guess: it raises `NotInSnapshot`, and the
recording disk is asked for that as well.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple, TypeVar

from tpulint.disk import Disk

T = TypeVar("T")

READ, LIST, EXISTS = "read", "list", "exists"
Question = tuple[str, str]  # one of these, and an absolute path


class Answers(NamedTuple):
    """The answers to questions, by path; None for what cannot be read."""

    files: dict[str, bytes | None]
    folders: dict[str, list[str] | None]
    existing: dict[str, bool]


class NotInSnapshot(BaseException):
    """The snapshot does not know: the reading ends. No fault, so nothing survives it."""

    def __init__(self, question: Question) -> None:
        super().__init__(*question)
        self.question = question


class RecordingDisk(Disk):
    """The disk of this machine, and what it answered."""

    def __init__(self) -> None:
        self.answers = Answers({}, {}, {})

    def ask(self, question: Question) -> None:
        """Ask what a snapshot of the answers did not know."""
        kind, path = question
        try:
            if kind == READ:
                self.read(path)
            elif kind == LIST:
                self.names(path)
            else:
                self.exists(path)
        except OSError:
            return  # that is the answer

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        known = self.answers.files
        if known.get(path) is None:
            known[path] = None
            known[path] = super().read(path, limit_bytes)
        return _there(known[path], path)

    def names(self, folder: str) -> list[str]:
        known = self.answers.folders
        if known.get(folder) is None:
            known[folder] = None
            known[folder] = super().names(folder)
        return _there(known[folder], folder)

    def exists(self, path: str) -> bool:
        return self.answers.existing.setdefault(path, super().exists(path))


class DiskSnapshot(Disk):
    """The answers of a recording disk, on another machine."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        return _there(self._known(self._answers.files, READ, path), path)

    def in_memory(self, path: str) -> bytes:
        return self.read(path)

    def names(self, folder: str) -> list[str]:
        return _there(self._known(self._answers.folders, LIST, folder), folder)

    def exists(self, path: str) -> bool:
        return self._known(self._answers.existing, EXISTS, path)

    def _known(self, known: dict[str, T], kind: str, path: str) -> T:
        if path not in known:
            raise NotInSnapshot((kind, path))
        return known[path]


def _there(answer: T | None, path: str) -> T:
    if answer is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return answer
