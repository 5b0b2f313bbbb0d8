"""The findings of the last programs on disk: one is read again when an input of it has changed.

An entry that cannot be read is no entry.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.kept_entry import prune
from tpulint.pipeline.program_inputs import InputsOnDisk, InputsRow
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.run_cache import decoded, encoded, read_entry, write_entry
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
    imported: list[str]
    read: bool


class KeptPrograms:
    """The programs of a batch that the cache has, or the one that is shared with other machines."""

    def __init__(self, batch: Batch) -> None:
        self._folder = ""
        self._shared: SharedCache | None = None
        self._inputs = InputsOnDisk(batch.filenames)
        self._head = ""
        if batch.cache is not None and batch.may_keep_findings:
            self._folder = os.path.join(batch.cache, FOLDER)
            # The folders above in which imports may start are as many as this one is deep.
            head = [os.getcwd().count(os.sep), sorted(batch.codes), batch.settings]
            self._head = repr([package_hash(), sys.version, *head])
            if batch.shared is not None:
                self._shared = SharedCache(batch.shared)

    def recall(self, jobs: Iterable[Job]) -> dict[Job, Analysis]:
        """Return what was found in the programs all of whose inputs are as they were."""
        if not self._folder:
            return {}
        names = {job: self._name(job) for job in jobs}
        known = {job: self._read(partial(read_entry, self._folder, names[job])) for job in names}
        if self._shared is not None:
            missing = {job: name for job, name in names.items() if known[job] is None}
            entries = self._shared.read(missing.values())
            for job, name in missing.items():
                if name in entries:
                    known[job] = self._read(partial(decoded, entries[name]))
        return {job: found for job, found in known.items() if found is not None}

    def _read(self, entry: Callable[[], ProgramRow]) -> Analysis | None:
        """Return what an entry holds, where it is sound and its inputs are as they were."""
        try:
            data = entry()
            if not self._inputs.are_as_they_were(data["inputs"]):
                return None
            found = Analysis(map(finding_of, data["findings"]), data["messages"])
            found.skipped.update(data["skipped"])
            found.imported += map(os.path.abspath, data["imported"])
            found.followed.update(map(os.path.abspath, data["inputs"]["files"]))
            found.read = data["read"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return found

    def remember(self, job: Job, found: Analysis) -> None:
        """Keep what was found, unless something failed, or has changed since the run began."""
        if not self._folder or found.failures or found.inputs is None:
            return
        if self._inputs.have_changed(found.inputs):
            return
        data: ProgramRow = {
            "inputs": self._inputs.entry(found.inputs),
            "findings": [row_of(each) for each in found.findings],
            "messages": found.messages,
            "skipped": dict(found.skipped),
            "imported": [self._inputs.relative(os.path.abspath(each)) for each in found.imported],
            "read": found.read,
        }
        name = self._name(job)
        try:
            write_entry(self._folder, name, data)
            prune(self._folder)
        except OSError:
            pass  # without a cache, everything is read again
        if self._shared is not None:
            self._shared.write(name, encoded(data))

    def _name(self, job: Job) -> str:
        placed = [(self._inputs.relative(path), certainty) for path, certainty in job.placed]
        identity = [self._head, job.seeds, placed]
        digest = hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    @property
    def messages(self) -> list[str]:
        """The lines for standard error about a shared cache that cannot be used."""
        return [] if self._shared is None else self._shared.faults
