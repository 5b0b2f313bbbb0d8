"""The findings of the last programs on disk: one is read again when an input of it has changed.

An entry that cannot be read is no entry.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from tpulint.cache_dir import UNSOUND, prune, read_entry, sealed, unsealed, write_entry
from tpulint.disk import PassedOver
from tpulint.finding import UnfollowedCall
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.program_inputs import InputsOnDisk, InputsRow
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.run_cache import BYTES, decoded, encoded
from tpulint.pipeline.shared_cache import SharedCache
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch, Job

FOLDER = "programs"


class ProgramRow(TypedDict):
    """The findings of a program and its inputs, for JSON."""

    inputs: InputsRow
    findings: list[dict[str, object]]
    messages: list[str]
    skipped: dict[str, int]
    unfollowed: list[UnfollowedCall]
    imported: list[str]
    read: bool
    passed_over: list[tuple[str, str, bool]]


class KeptPrograms:
    """The programs of a batch that the cache has, or the one that is shared with other machines."""

    def __init__(self, batch: Batch) -> None:
        self._cache = batch.cache if batch.may_keep_findings else None
        self._shared: SharedCache | None = None
        self._inputs = InputsOnDisk(batch.filenames)
        self._head = ""
        if self._cache is not None:
            # The folders above in which imports may start are as many as this one is deep.
            head = [os.getcwd().count(os.sep), sorted(batch.codes), batch.settings]
            self._head = repr([package_hash(), sys.version, *head])
            if batch.shared is not None:
                self._shared = SharedCache(batch.shared)

    def recall(self, jobs: Iterable[Job]) -> dict[Job, Analysis]:
        """Return what was found in the programs all of whose inputs are as they were."""
        if self._cache is None:
            return {}
        names = {job: self._name(job) for job in jobs}
        entry = partial(read_entry, self._cache, FOLDER)
        known = {job: self._read(partial(entry, names[job])) for job in names}
        if self._shared is not None:
            missing = {job: name for job, name in names.items() if known[job] is None}
            entries = self._shared.read(missing.values())
            for job, name in missing.items():
                if name in entries:
                    known[job] = self._read(partial(unsealed, name, entries[name]))
        return {job: found for job, found in known.items() if found is not None}

    def _read(self, entry: Callable[[], bytes]) -> Analysis | None:
        """Return what an entry holds, where it is sound and its inputs are as they were."""
        try:
            data: ProgramRow = decoded(entry())
            if not self._inputs.are_as_they_were(data["inputs"]):
                return None
            found = Analysis(map(finding_of, data["findings"]), data["messages"])
            found.skipped.update(data["skipped"])
            found.unfollowed.update(UnfollowedCall(*row) for row in data["unfollowed"])
            found.imported += map(os.path.abspath, data["imported"])
            found.followed.update(map(os.path.abspath, data["inputs"]["files"]))
            found.read = data["read"]
            found.pass_over(
                PassedOver(os.path.abspath(path), reason, is_too_large)
                for path, reason, is_too_large in data["passed_over"]
            )
        except UNSOUND:
            return None
        return found

    def remember(self, job: Job, found: Analysis) -> None:
        """Keep what was found, unless something failed, or has changed since the run began."""
        if self._cache is None or found.failures or found.inputs is None:
            return
        if self._inputs.have_changed(found.inputs):
            return
        data: ProgramRow = {
            "inputs": self._inputs.entry(found.inputs),
            "findings": [row_of(each) for each in found.findings],
            "messages": found.messages,
            "skipped": dict(found.skipped),
            "unfollowed": sorted(found.unfollowed),
            "imported": [self._inputs.relative(os.path.abspath(each)) for each in found.imported],
            "read": found.read,
            "passed_over": [
                (self._inputs.relative(os.path.abspath(path)), reason, is_too_large)
                for path, reason, is_too_large in found.passed_over
            ],
        }
        name, content = self._name(job), encoded(data)
        with suppress(OSError):  # without a cache, everything is read again
            write_entry(self._cache, FOLDER, name, content)
            prune(self._cache, FOLDER, BYTES)
        if self._shared is not None:
            self._shared.write(name, sealed(name, content))

    def _name(self, job: Job) -> str:
        placed = [(self._inputs.relative(path), certainty) for path, certainty in job.placed]
        identity = [self._head, job.seeds, placed]
        digest = hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    @property
    def messages(self) -> list[str]:
        """The lines for standard error about a shared cache that cannot be used."""
        return [] if self._shared is None else self._shared.faults
