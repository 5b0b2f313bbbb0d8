"""A project between two checks: what did not change is not looked at again.

Kept are the result of the prefilter for each file, the import graph, the summaries of modules,
and the findings of each program. A program is read again when one of the files has changed that
its entry points reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.collector import uncollected
from tpulint.pipeline.executor import DivisionStep, NamesStep, PrefilterStep, ProgramStep
from tpulint.pipeline.prefilter import Prefiltered, merge
from tpulint.pipeline.warm_programs import ProgramKey, Reading, ReadProgram, WarmPrograms, key_of
from tpulint.syntax.warm_summaries import WarmStore


class Superseded(BaseException):
    """Something has changed meanwhile: the answer is no longer wanted.

    No fault, so that nothing which survives faults survives it.
    """


class Warm:
    """The results of the last check of a project's files.

    checkpoint: called now and then; it raises Superseded to end a check. first: a file whose
    findings are wanted before the others'.
    """

    def __init__(self, checkpoint: Callable[[], None] = lambda: None) -> None:
        self.first: str | None = None
        self._checkpoint = checkpoint
        self._given: dict[str, bytes] = {}
        self._stale: set[str] = set()
        self._by_settings: dict[Settings, WarmExecutor] = {}

    def forget(self, filenames: Iterable[str]) -> None:
        """Note that the disk has other bytes for these files."""
        self._stale.update(filenames)

    def take(self, given: Mapping[str, bytes], first: str | None = None) -> None:
        """Take in the bytes of unsaved files; those that are new, other or gone have changed."""
        both = {*given, *self._given}
        changed = {each for each in both if given.get(each) != self._given.get(each)}
        for each in self._by_settings.values():
            each.incomplete = False
            each.forget(changed | self._stale)
        self._given = dict(given)
        self._stale.clear()
        self.first = first

    def begin_anew(self) -> None:
        """Note that files have come or gone: imports may mean other files. Summaries stay."""
        for each in self._by_settings.values():
            each.begin_anew()

    @property
    def incomplete(self) -> bool:
        """Return whether some findings of the last check are those of an earlier one."""
        return any(each.incomplete for each in self._by_settings.values())

    def executor(self, batch: Batch) -> WarmExecutor:
        """Return the executor that knows what the last check of these files found out."""
        known = self._by_settings.get(batch.settings)
        if known is None:
            known = WarmExecutor(batch, self._checkpoint)
            self._by_settings[batch.settings] = known
        known.begin(batch._replace(cache=None, checkpoint=self._checkpoint), self.first)
        return known

    def rehearse(self, first: str) -> None:
        """Look at a part of each program for a file, and see if that finds the same in it."""
        for each in self._by_settings.values():
            each.rehearse(first)

    def programs_of(self, path: str) -> Iterable[ReadProgram]:
        """Yield the programs that read the module at `path` (absolute) in the last check."""
        for each in self._by_settings.values():
            yield from each.known_programs.of(path)


class WarmExecutor:
    """An executor of the steps in this process, for files that have been checked before.

    batch: the files of the check under way. incomplete: of the programs that the last edit
    concerns, only the edited file's findings are those of its newest text.
    """

    def __init__(self, batch: Batch, checkpoint: Callable[[], None]) -> None:
        self.batch = batch
        self.incomplete = False
        self.known_programs = WarmPrograms(WarmStore(), checkpoint)
        self._first: str | None = None
        self._prefiltered: dict[str, Prefiltered] = {}
        self._graph: ImportGraph | None = None
        self._changed: set[str] = set()
        self._names: tuple[object, Analysis] | None = None
        self._last: tuple[dict[ProgramKey, Job], ProgramStep] | None = None

    def begin(self, batch: Batch, first: str | None) -> None:
        """Begin a check; `first` is the file whose findings are wanted before the others'."""
        self.batch = batch
        self._first = first

    def forget(self, changed: Collection[str]) -> None:
        """Drop what depends on the files `changed`."""
        paths = {os.path.abspath(each) for each in changed}
        self._changed |= paths
        for each in changed:
            self._prefiltered.pop(each, None)
        self.known_programs.forget(paths)

    def begin_anew(self) -> None:
        self.known_programs.begin_anew()
        self._graph = None
        self._names = None

    def prefilter(self, step: PrefilterStep) -> Prefiltered:
        """Search the bytes of the files that have changed."""
        for each in self.batch.filenames:
            if each not in self._prefiltered:
                self._prefiltered[each] = step(self.batch, [each])
        return merge([self._prefiltered[each] for each in self.batch.filenames])

    def divide(self, prefiltered: Prefiltered, step: DivisionStep) -> list[Job]:
        """Find the programs by the import graph, read again for the files that have changed."""
        return step(self.batch, prefiltered, self._new_graph())

    def _new_graph(self) -> ImportGraph:
        files = Files(self.batch.given, self.batch.disk, installed=INSTALLED)
        graph = ImportGraph(files)
        if self._graph is not None:
            graph = self._graph.again(files, self._changed)
        self._graph, self._changed = graph, set()
        return graph

    def names(self, prefiltered: Prefiltered, step: NamesStep) -> Analysis:
        """Find what is wrong with names, which depends on what is spelled and on nothing else."""
        inputs = (prefiltered.spelled, prefiltered.findings, prefiltered.marked)
        if self._names is None or self._names[0] != inputs:
            self._names = (inputs, step(self.batch, prefiltered))
        return self._names[1]

    def programs(self, jobs: Sequence[Job], step: ProgramStep) -> Iterator[Analysis]:
        """Analyze the programs that have changed; of one, the part around `first` may do."""
        assert self._graph is not None
        by_key = {key_of(job): job for job in jobs}
        self._last = (by_key, step)
        self.known_programs.keep(by_key)
        self.incomplete = False
        for key, job in by_key.items():
            reading = Reading(self.batch, key, job, self._graph, step)
            found = self.known_programs.known(key)
            if found is None and self._first is not None:
                found = self.known_programs.in_part(reading, self._first)
                self.incomplete = self.incomplete or found is not None
            yield found or self.known_programs.read(reading)

    @uncollected()
    def rehearse(self, first: str) -> None:
        """Analyze a part of each program for a file, and see if that finds the same in it."""
        if self._last is not None and self._graph is not None:
            by_key, step = self._last
            for key, job in by_key.items():
                reading = Reading(self.batch, key, job, self._graph, step)
                self.known_programs.rehearse(reading, first)
