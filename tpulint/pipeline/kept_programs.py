"""The findings of the last programs on disk: one is read again when an input of it has changed.

Inputs are all that its reading asked for: files that it read, with their contents, and names that
it looked for in folders, so that a file which was missing is looked for again. An entry that
cannot be read is no entry.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tpulint.analysis.names.target_release import FILES
from tpulint.analysis.resolver.files import TOPS
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.run_cache import read_entry, write_entry
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch, Job

FOLDER = "programs"
TICK = 10_000_000  # nanoseconds: how far the times of files may lag behind
BYTES = 64 * 1024 * 1024  # of all entries; the oldest go first


class KeptPrograms:
    """The programs of a batch that the cache has."""

    def __init__(self, batch: Batch) -> None:
        self._folder = ""
        if batch.cache is not None and batch.may_keep_findings:
            self._folder = os.path.join(batch.cache, FOLDER)
        head = [os.getcwd(), sorted(batch.codes), batch.settings]
        self._head = repr([package_hash(), sys.version, *head]) if self._folder else ""
        self._names = batch.filenames
        self._begun = time.time_ns() - TICK
        self._shown: dict[str, str] | None = None
        self._contents: dict[str, str] = {}
        self._listings: dict[str, frozenset[str]] = {}

    def recall(self, job: Job) -> Analysis | None:
        """Return what was found in the program, where all its inputs are as they were."""
        if not self._folder:
            return None
        try:
            data = read_entry(self._folder, self._name(job))
            if not self._are_as_they_were(data["folders"], data["names"]):
                return None
            if data["stated"] != self._stated(data["files"]):
                return None
            found = Analysis(map(finding_of, data["findings"]), data["messages"])
            found.skipped.update(data["skipped"])
            found.imported += data["imported"]
            found.read = data["read"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return found

    def remember(self, job: Job, found: Analysis) -> None:
        """Keep what was found, unless something failed, or has changed since the run began."""
        inputs = found.inputs
        if not self._folder or found.failures or inputs is None:
            return
        if any(_changed(each) >= self._begun for each in inputs.files):
            return
        files = sorted(inputs.files)
        data = {
            "folders": inputs.folders,
            "names": inputs.names,
            "files": files,
            "stated": self._stated(files),
            "findings": [row_of(each) for each in found.findings],
            "messages": found.messages,
            "skipped": dict(found.skipped),
            "imported": found.imported,
            "read": found.read,
        }
        try:
            write_entry(self._folder, self._name(job), data)
            _prune(self._folder)
        except OSError:
            return  # without a cache, everything is read again

    def _name(self, job: Job) -> str:
        identity = [self._head, job.seeds, job.placed]
        digest = hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _stated(self, files: list[str]) -> str:
        """The hash of the contents of files, and of the names that the run has for them."""
        if self._shown is None:
            self._shown = {os.path.abspath(each): each for each in self._names}
        rows = [[path, self._shown.get(path), self._content(path)] for path in files]
        return hashlib.sha256(repr(rows).encode("utf-8", "surrogateescape")).hexdigest()

    def _content(self, path: str) -> str:
        known = self._contents.get(path)
        if known is None:
            known = self._contents[path] = _content(path)
        return known

    def _are_as_they_were(
        self, folders: dict[str, list[str]], names: dict[str, dict[str, bool]]
    ) -> bool:
        if any(counting(self._names_in(path)) != listed for path, listed in folders.items()):
            return False
        return all(
            (name in self._names_in(path)) == was_there
            for path, asked in names.items()
            for name, was_there in asked.items()
        )

    def _names_in(self, folder: str) -> frozenset[str]:
        known = self._listings.get(folder)
        if known is None:
            known = self._listings[folder] = _names_in(folder)
        return known


def counting(names: Iterable[str]) -> list[str]:
    """The names in a folder that an import can mean, or that say what a project is; no caches."""
    return sorted(
        each
        for each in names
        if each in TOPS or FILES.fullmatch(each) is not None or _may_be_imported(each)
    )


def _may_be_imported(name: str) -> bool:
    return name.removesuffix(".py").isidentifier() and name != "__pycache__"


def _changed(path: str) -> int:
    """The time of the last change of a file or folder; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ""


def _names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _prune(folder: str) -> None:
    """Drop the oldest entries beyond `BYTES`."""
    with os.scandir(folder) as entries:
        seen = sorted((each.stat().st_mtime_ns, each.stat().st_size, each.path) for each in entries)
    total = sum(size for _, size, _ in seen)
    for _, size, path in seen:
        if total <= BYTES:
            break
        os.unlink(path)
        total -= size
