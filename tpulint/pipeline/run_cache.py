"""The findings of the last runs: nothing is analyzed twice while no file has changed.

A run is remembered under the names, sizes and times of its files, its settings and
its codes. What was imported from elsewhere is checked when it is recalled. An entry
that cannot be read is no entry.

An edit of a file that is of no program finds the run before it again (see `edits_beside`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.stamps import Stamps
from tpulint.pipeline.version import package_hash

RUNS = "runs"
KEPT = 32


class RunCache:
    """The findings of the last checks of a batch, on disk."""

    def __init__(self, batch: Batch, stamps: Stamps) -> None:
        self._batch = batch
        self._stamps = stamps
        self._folder = ""
        if batch.cache is not None and batch.may_keep_findings:
            self._folder = os.path.join(batch.cache, RUNS)

    @cached_property
    def _key(self) -> str | None:
        batch = self._batch
        return key_of(batch, self._stamps)

    def recall(self) -> Analysis | None:
        """Return the findings of the same check before, if its imported files have not changed."""
        return self._recalled(self._key, (), "nothing")

    def recall_before(self, edits: Mapping[str, str]) -> Analysis | None:
        """Return the findings of the check before some edits, if none is of a program's file.

        `edits` has the stamps that the files had then.
        """
        edited = list(map(os.path.abspath, edits))
        key = key_of(self._batch, self._stamps.before(edits)) if self._folder else None
        return self._recalled(key, edited, "no program")

    def _recalled(self, key: str | None, edited: Collection[str], same: str) -> Analysis | None:
        if not self._folder or key is None or not os.path.isdir(self._folder):
            return None
        try:
            data = read_entry(self._folder, key)
            if edited and not set(data["followed"]).isdisjoint(edited):
                return None
            if any(self._stamps.of(path) != known for path, known in data["imported"]):
                return None
            findings = [finding_of(row) for row in data["findings"]]
            known = Analysis(findings, data["messages"], marked=data["marked"])
            known.skipped.update(data["skipped"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        asked = len(self._batch.filenames) - len(self._batch.context)
        known.notes.append(f"{asked} files: {same} changed since the last run")
        return known

    def remember(self, found: Analysis) -> None:
        """Keep what was found, unless something failed or there was nothing to read."""
        if not self._folder or self._key is None or found.failures or not found.read:
            return
        data = {
            "findings": [row_of(each) for each in found.findings],
            "messages": found.messages,
            "imported": [[path, self._stamps.of(path)] for path in sorted(set(found.imported))],
            "followed": sorted(found.followed),
            "marked": found.marked,
            "skipped": dict(found.skipped),
        }
        try:
            write_entry(self._folder, self._key, data)
            _prune(self._folder)
        except OSError:
            return  # the store of the summaries has already said that the cache cannot be written


def read_entry(folder: str, name: str) -> Any:
    """Read an entry of a cache. Raises OSError or ValueError where there is none."""
    with open(os.path.join(folder, f"{name}.json"), "rb") as stream:
        return decoded(stream.read())


def write_entry(folder: str, name: str, data: object) -> None:
    """Write an entry of a cache as a whole file: other checks may be reading."""
    import tempfile

    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as stream:
        stream.write(encoded(data))
    os.replace(temporary, os.path.join(folder, f"{name}.json"))


def decoded(data: bytes) -> Any:
    """Return the content of an entry. Raises ValueError where it is none."""
    import json

    return json.loads(data)


def encoded(data: object) -> bytes:
    """Return the bytes of an entry."""
    import json

    return json.dumps(data, separators=(",", ":")).encode()


def key_of(batch: Batch, stamps: Stamps) -> str | None:
    """Return the name of a check; None where a file has just gone."""
    import hashlib

    head = [sys.version, package_hash(), sorted(batch.codes), batch.settings, os.getcwd()]
    digest = hashlib.sha256(repr(head).encode())
    digest.update(str(len(batch.filenames)).encode())
    digest.update(repr(sorted(batch.context)).encode("utf-8", "surrogateescape"))
    for filename in sorted(batch.filenames):
        found = stamps.of(filename)
        if found is None:
            return None
        digest.update(f"{filename}\0{found}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _prune(folder: str) -> None:
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    for path in sorted(paths, key=lambda path: os.stat(path).st_mtime_ns)[:-KEPT]:
        os.unlink(path)
