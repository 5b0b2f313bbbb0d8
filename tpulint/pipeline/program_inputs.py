"""The inputs of a program on disk: all that its reading asked for.

They are the files that it read, with their contents, and names that it looked for in folders, so
that a file which was missing is looked for again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar

from tpulint.analysis.names.target_release import FILES, README
from tpulint.analysis.resolver.files import TOPS
from tpulint.disk import read_regular
from tpulint.pipeline.stamps import TICK, changed_at

if TYPE_CHECKING:
    from tpulint.pipeline.analysis import ProgramInputs

T = TypeVar("T")


class InputsRow(TypedDict):
    """The inputs of a program for JSON; without the folder `here`, if any, they mean nothing."""

    here: str
    folders: dict[str, list[str]]
    names: dict[str, dict[str, bool]]
    requirements: dict[str, list[str]]
    files: list[str]
    stated: str


class InputsOnDisk:
    """The files and folders of this machine, each looked at once; `filenames` are the run's."""

    def __init__(self, filenames: Sequence[str]) -> None:
        self._here = os.getcwd()
        self._within = os.path.join(self._here, "")
        self._names = filenames
        self._begun = time.time_ns() - TICK
        self._shown: dict[str, str] | None = None
        self._contents: dict[str, str] = {}
        self._listings: dict[str, frozenset[str]] = {}

    def have_changed(self, inputs: ProgramInputs) -> bool:
        """Return whether a file has changed since the run began."""
        return any(changed_at(each) >= self._begun for each in inputs.files)

    def entry(self, inputs: ProgramInputs) -> InputsRow:
        """Return what a program depends on, as it is now.

        Paths begin in the current folder, so that the next machine may have it elsewhere; but not
        where files outside of it are read, which a finding may name by an absolute path.
        """
        files = sorted(map(self.relative, inputs.files))
        outside = [each for each in files if _is_outside(each) and self._content(each)]
        return {
            "here": self._here if outside else "",
            "folders": self._by_relative(inputs.folders),
            "names": self._by_relative(inputs.names),
            "requirements": self._by_relative(inputs.requirements),
            "files": files,
            "stated": self._stated(files),
        }

    def _by_relative(self, folders: Mapping[str, T]) -> dict[str, T]:
        return {self.relative(path): names for path, names in folders.items()}

    def relative(self, path: str) -> str:
        """Return an absolute path as one that begins in the current folder, if that is possible."""
        if path.startswith(self._within):
            return path[len(self._within) :]
        try:
            return os.path.relpath(path, self._here)
        except ValueError:  # of Windows: it is on another drive
            return path

    def are_as_they_were(self, entry: InputsRow) -> bool:
        """Return whether nothing of an entry has changed. Raises KeyError where it is none."""
        if entry["here"] not in ("", self._here):
            return False
        for folder, listed in entry["folders"].items():
            if counting(self._names_in(folder)) != listed:
                return False
        for folder, listed in entry["requirements"].items():
            if required(self._names_in(folder)) != listed:
                return False
        for folder, asked in entry["names"].items():
            if any((each in self._names_in(folder)) != was for each, was in asked.items()):
                return False
        return bool(entry["stated"] == self._stated(entry["files"]))

    def _stated(self, files: list[str]) -> str:
        """Return the hash of the contents of files, and of the names that the run has for them."""
        if self._shown is None:
            self._shown = {os.path.abspath(each): each for each in self._names}
        shown = (self._shown.get(os.path.abspath(path)) for path in files)
        rows = [[path, name, self._content(path)] for path, name in zip(files, shown, strict=True)]
        return hashlib.sha256(repr(rows).encode("utf-8", "surrogateescape")).hexdigest()

    def _content(self, path: str) -> str:
        known = self._contents.get(path)
        if known is None:
            known = self._contents[path] = _content(path)
        return known

    def _names_in(self, folder: str) -> frozenset[str]:
        known = self._listings.get(folder)
        if known is None:
            known = self._listings[folder] = names_in(folder)
        return known


def _is_outside(path: str) -> bool:
    return path.startswith(os.pardir) or os.path.isabs(path)


def counting(names: Iterable[str]) -> list[str]:
    """Return the names in a folder that an import can mean, or that say what a project is."""
    return sorted(each for each in names if each in TOPS or _may_be_imported(each))


def required(names: Iterable[str]) -> list[str]:
    """Return the files in a folder that may say which TensorFlow it is for."""
    return sorted(each for each in names if FILES.fullmatch(each) or README.fullmatch(each))


def _may_be_imported(name: str) -> bool:
    return name.removesuffix(".py").isidentifier() and name != "__pycache__"


def _content(path: str) -> str:
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


def names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
