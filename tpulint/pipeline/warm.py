"""A project between two checks: what did not change is not looked at again.

Kept are the screen of each file, the import graph, the summaries of modules, and of each
program what was found in it. A program is read again when one of the files has changed that
its entry points reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.programs import of_names, programs, uncollected
from tpulint.pipeline.screen import Screened, screen, together
from tpulint.pipeline.warm_programs import Key, ReadProgram, WarmPrograms, key_of
from tpulint.syntax.warm_summaries import WarmStore

Checkpoint = Callable[[], None]


class Superseded(BaseException):
    """Something has changed meanwhile: nobody wants the answer any more.

    No fault, so that nothing which survives faults survives it.
    """


class Warm:
    """The results of the last check of a project's files.

    checkpoint: called now and then; it raises Superseded to end a check. first: a file whose
    findings are wanted before the others'; incomplete: those of the last check are not all there.
    """

    def __init__(self, checkpoint: Checkpoint = lambda: None) -> None:
        self.first: str | None = None
        self.incomplete = False
        self._checkpoint = checkpoint
        self._given: dict[str, bytes] = {}
        self._stale: set[str] = set()
        self._by_settings: dict[Settings, _WarmAnalysis] = {}

    def forget(self, filenames: Iterable[str]) -> None:
        """Note that the disk has other bytes for these files."""
        self._stale.update(filenames)

    def take(self, given: Mapping[str, bytes], first: str | None = None) -> None:
        """Take in the bytes of unsaved files; those that are new, other or gone have changed."""
        both = {*given, *self._given}
        changed = {each for each in both if given.get(each) != self._given.get(each)}
        for each in self._by_settings.values():
            each.forget(changed | self._stale)
        self._given = dict(given)
        self._stale.clear()
        self.first = first
        self.incomplete = False

    def begin_anew(self) -> None:
        """Note that files have come or gone: imports may mean other files. Summaries stay."""
        for each in self._by_settings.values():
            each.begin_anew()

    def analyse(
        self,
        filenames: Sequence[str],
        context: Sequence[str],
        given: Mapping[str, bytes],
        codes: frozenset[str],
        settings: Settings,
        cache: str | None,
    ) -> Analysis:
        """Return the findings in `filenames`, as `projects.analyse` does."""
        known = self._by_settings.get(settings)
        if known is None:
            known = self._by_settings[settings] = _WarmAnalysis(cache, self._checkpoint)
        ordered = tuple(sorted((*filenames, *context), key=os.path.abspath))
        run = Run(
            ordered, frozenset(context), given, codes, settings, None, checkpoint=self._checkpoint
        )
        found = known.analyse(run, self.first)
        self.incomplete = self.incomplete or known.incomplete
        return found

    def rehearse(self, first: str) -> None:
        """Look at a part of each program for a file, and see if that finds the same in it."""
        for each in self._by_settings.values():
            each.rehearse(first)

    def programs_of(self, path: str) -> Iterable[ReadProgram]:
        """The programs that read the module at `path` (absolute) in the last check."""
        for each in self._by_settings.values():
            yield from each.programs.of(path)


class _WarmAnalysis:
    """The results under one of the settings."""

    def __init__(self, cache: str | None, checkpoint: Checkpoint) -> None:
        self.incomplete = False
        self.programs = WarmPrograms(WarmStore(cache), checkpoint)
        self._screened: dict[str, Screened] = {}
        self._graph: ImportGraph | None = None
        self._changed: set[str] = set()
        self._names: tuple[object, Analysis] | None = None
        self._last: tuple[Run, dict[Key, Job]] | None = None

    def forget(self, changed: Collection[str]) -> None:
        """Drop what depends on the files `changed`."""
        paths = {os.path.abspath(each) for each in changed}
        self._changed |= paths
        for each in changed:
            self._screened.pop(each, None)
        self.programs.forget(paths)

    def begin_anew(self) -> None:
        self.programs.begin_anew()
        self._graph = None
        self._names = None

    @uncollected()
    def analyse(self, run: Run, first: str | None) -> Analysis:
        """Return what is found; of the file `first` before the others, where that is possible."""
        for each in run.filenames:
            if each not in self._screened:
                self._screened[each] = screen([each], run.given, run.settings, run.context)
        screened = together([self._screened[each] for each in run.filenames])
        graph = self._graph_of(run)
        whole = Analysis()
        whole.add(self._of_names(run, screened))
        jobs = {key_of(job): job for job in programs(run, screened, graph)}
        self._last = (run, jobs)
        self.programs.keep(jobs)
        self.incomplete = False
        for key, job in jobs.items():
            found = self.programs.known(key)
            if found is None and first is not None:
                found = self.programs.in_part(run, key, job, graph, first)
                self.incomplete = self.incomplete or found is not None
            whole.add(found or self.programs.read(run, key, job, graph))
        return whole

    @uncollected()
    def rehearse(self, first: str) -> None:
        if self._last is not None and self._graph is not None:
            run, jobs = self._last
            for key, job in jobs.items():
                self.programs.rehearse(run, key, job, self._graph, first)

    def _graph_of(self, run: Run) -> ImportGraph:
        files = Files(run.given)
        graph = ImportGraph(files)
        if self._graph is not None:
            graph = self._graph.again(files, self._changed)
        self._graph, self._changed = graph, set()
        return graph

    def _of_names(self, run: Run, screened: Screened) -> Analysis:
        """The findings in names alone, which hang on what is spelled and on nothing else."""
        said = (screened.spelled, screened.findings, screened.marked)
        if self._names is None or self._names[0] != said:
            self._names = (said, of_names(run, screened))
        return self._names[1]
