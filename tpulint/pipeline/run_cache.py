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

from tpulint.cache_dir import UNSOUND, prune, read_entry, write_entry
from tpulint.disk import MEBIBYTE, PassedOver
from tpulint.finding import UnfollowedCall
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.stamps import Stamps
from tpulint.pipeline.version import package_hash

RUNS = "runs"
KEPT = 32
BYTES = 64 * MEBIBYTE  # of all entries in a folder; the oldest go first


class RunCache:
    """The findings of the last checks of a batch, on disk."""

    def __init__(self, batch: Batch, stamps: Stamps) -> None:
        self._batch = batch
        self._stamps = stamps
        self._cache = batch.cache if batch.may_keep_findings else None

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
        key = key_of(self._batch, self._stamps.before(edits)) if self._cache else None
        return self._recalled(key, edited, "no program")

    def _recalled(self, key: str | None, edited: Collection[str], same: str) -> Analysis | None:
        if self._cache is None or key is None:
            return None
        try:
            data = decoded(read_entry(self._cache, RUNS, key))
            if edited and not set(data["followed"]).isdisjoint(edited):
                return None
            if any(self._stamps.of(path) != known for path, known in data["imported"]):
                return None
            findings = [finding_of(row) for row in data["findings"]]
            known = Analysis(findings, data["messages"], marked=data["marked"])
            known.skipped.update(data["skipped"])
            known.pass_over(PassedOver(*each) for each in data["passed_over"])
            known.unfollowed.update(UnfollowedCall(*row) for row in data["unfollowed"])
        except UNSOUND:
            return None
        asked = len(self._batch.filenames) - len(self._batch.context)
        known.notes.append(f"{asked} files: {same} changed since the last run")
        return known

    def remember(self, found: Analysis) -> None:
        """Keep what was found, unless something failed or there was nothing to read."""
        if self._cache is None or self._key is None or found.failures or not found.read:
            return
        depends_on = {*self._batch.filenames, *found.imported}
        if any(self._stamps.settled(each) == "" for each in depends_on):
            return
        data = {
            "findings": [row_of(each) for each in found.findings],
            "messages": found.messages,
            "imported": [[path, self._stamps.of(path)] for path in sorted(set(found.imported))],
            "followed": sorted(found.followed),
            "marked": found.marked,
            "skipped": dict(found.skipped),
            "passed_over": found.passed_over,
            "unfollowed": sorted(found.unfollowed),
        }
        try:
            write_entry(self._cache, RUNS, self._key, encoded(data))
            prune(self._cache, RUNS, BYTES, KEPT)
        except OSError:
            return  # `kept_programs` says that the cache cannot be written


def decoded(data: bytes) -> Any:
    """Return the content of an entry. Raises an error of `UNSOUND` where it is none."""
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
