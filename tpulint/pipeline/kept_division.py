"""The programs of the last check: they are the same while no sign, no import and no name is new.

A new name counts in a folder that an import led through: the import may mean another file then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline import kept_entry
from tpulint.pipeline.batch import Job
from tpulint.pipeline.kept_entry import KeptEntry
from tpulint.pipeline.program_inputs import counting, names_in
from tpulint.pipeline.stamps import Stamps

if TYPE_CHECKING:
    from tpulint.analysis.resolver.files import Asked
    from tpulint.analysis.resolver.import_graph import ImportGraph
    from tpulint.pipeline.batch import Batch
    from tpulint.pipeline.prefilter import Prefiltered

FOLDER = "divisions"
FEW = 200  # changed files whose imports are read again one by one


class Division(NamedTuple):
    """The programs of a check, and what they were found by.

    files: the hash of the files' names. signs: that of the signs in all of them. answers: that of
    what the disk says to all that was `asked`. imported: by file, its stamp and the files that
    it imports.
    """

    files: str
    signs: str
    answers: str
    asked: Asked
    imported: dict[str, tuple[str | None, tuple[str, ...]]]
    jobs: tuple[Job, ...]

    def unchanged(self, stamps: Stamps) -> dict[str, tuple[str, ...]]:
        """Return the imports of the files that are as they were."""
        rows = self.imported.items()
        return {path: found for path, (before, found) in rows if before == stamps.of(path)}


class KeptDivision:
    """The programs among the files of a batch, on disk."""

    def __init__(self, batch: Batch, stamps: Stamps) -> None:
        self._files = _hash([batch.filenames, sorted(batch.context)])
        self._stamps = stamps
        self.entry = KeptEntry(batch, FOLDER, stamps)
        self._last: Division | None = None

    def recall(self, prefiltered: Prefiltered) -> list[Job] | None:
        """Return the programs if they are those of the last check."""
        last = self.entry.read(_decoded)
        if last is None or last.files != self._files or last.answers != _answers(last.asked):
            return None
        self._last = last
        if last.signs != self._hash_of_signs(prefiltered):
            return None
        known = last.unchanged(self._stamps)
        changed = [path for path in last.imported if path not in known]
        is_same = not changed or (len(changed) <= FEW and self._import_the_same(changed, last))
        return list(last.jobs) if is_same else None

    def _import_the_same(self, paths: list[str], last: Division) -> bool:
        """Return whether these files import what they did; then many get their new stamps."""
        from tpulint.analysis.resolver.files import Files
        from tpulint.analysis.resolver.import_graph import ImportGraph

        graph = ImportGraph(Files({}, installed=INSTALLED), None, last.asked)
        if any(graph.imported(each) != last.imported[each][1] for each in paths):
            return False
        imported = {**{path: found for path, (_, found) in last.imported.items()}, **graph.known}
        if len(paths) > kept_entry.LEFT:
            self.entry.leave(lambda: self._encoded(last.signs, graph.asked, imported, last.jobs))
        return True

    def imported(self) -> tuple[dict[str, tuple[str, ...]], Asked | None]:
        """Return what unchanged files import, and what was asked to find that."""
        last = self._last
        return ({}, None) if last is None else (last.unchanged(self._stamps), last.asked)

    def remember(self, prefiltered: Prefiltered, graph: ImportGraph, jobs: list[Job]) -> None:
        """Keep the programs that were found by the import graph."""
        if not self.entry.is_kept:
            return
        for each in prefiltered.seeds:
            graph.look_around(os.path.abspath(each))
        signs = self._hash_of_signs(prefiltered)
        self.entry.leave(lambda: self._encoded(signs, graph.asked, graph.known, jobs))

    def _encoded(
        self,
        signs: str,
        asked: Asked,
        imported: Mapping[str, tuple[str, ...]],
        jobs: Iterable[Job],
    ) -> list[object]:
        """Return a division for JSON."""
        rows = {path: (self.entry.stamp(path), found) for path, found in imported.items()}
        answers, questions = _answers(asked), [sorted(each) for each in asked]
        return [self._files, signs, answers, questions, rows, list(jobs)]

    def _hash_of_signs(self, found: Prefiltered) -> str:
        """Return the hash of the signs that programs depend on."""
        scripts = found.scripts if found.setters else ()
        return _hash([found.seeds, found.estimators, found.setters, scripts])


def _decoded(data: object) -> Division:
    if not isinstance(data, list):
        raise TypeError("no division")
    from tpulint.analysis.resolver.files import Asked

    files, signs, answers, asked, imported, jobs = data
    rows = {path: (before, tuple(found)) for path, (before, found) in imported.items()}
    found = tuple(_job(*each) for each in jobs)
    return Division(files, signs, answers, Asked(*map(frozenset, asked)), rows, found)


def _job(seeds: Iterable[str], placed: Iterable[list[str]], size: int) -> Job:
    return Job(tuple(seeds), tuple((path, state) for path, state in placed), size)


def _answers(asked: Asked) -> str:
    """Return the hash of what the disk says to all that was asked."""
    listed = [[each, counting(names_in(each))] for each in sorted(asked.listed)]
    folders = sorted(asked.folders)
    return _hash([listed, [[each, sorted(asked.names & names_in(each))] for each in folders]])


def _hash(rows: object) -> str:
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogateescape")).hexdigest()
