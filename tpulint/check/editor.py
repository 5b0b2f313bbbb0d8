"""A project between two checks in an editor: what did not change is not looked at again.

Kept are the results of the queries, the summaries of modules, and the programs with what was found
in each. A large program takes longer to analyze than an editor's user waits. So the entry points
that reach the edited file are analyzed first, without the others. Others can matter to what is
found in the file (they share state with it). Such a partial check is therefore trusted only where,
before the edit, it found in the file what the whole program finds (`validate_partial_check`); and
the whole program is analyzed afterwards all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tpulint.absint.domain.events import Context
from tpulint.absint.domain.objects import Function
from tpulint.absint.domain.site import Module
from tpulint.absint.interpreter.frame import Frame, Observer
from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.executor import LocalWorkers, ProgramStep, Search, SearchStep
from tpulint.check.progress import Progress
from tpulint.collector import gc_disabled
from tpulint.finding import Finding
from tpulint.frontends import installed
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow.program import Program
from tpulint.incremental.disk import CheckedDisk, DiskDependencies
from tpulint.incremental.memo import Memo
from tpulint.incremental.model import Analysis, Batch, Job
from tpulint.incremental.queries import Queries
from tpulint.syntax.lazy_module import Store
from tpulint.syntax.nodes import Statement

Lanes = dict[int, set[str]]  # by the place of the function


class Cancelled(BaseException):
    """Something has changed meanwhile: the answer is no longer wanted.

    It is no Exception, so that nothing which survives faults survives it.
    """


class LaneRecorder:
    """An observer of calls: which lanes (device, host) run each named function of the project.

    `checkpoint` is called at each of them, and may raise to end the reading.
    """

    def __init__(self, checkpoint: Callable[[], None] | None) -> None:
        self._checkpoint = checkpoint
        self._called: dict[str, tuple[Module, Lanes]] = {}

    def called(self, frame: Frame, function: Function, followed: bool) -> None:
        if self._checkpoint is not None:
            self._checkpoint()
        if followed and not function.code.is_lambda:
            path = function.module.path
            _, lanes = self._called.setdefault(path, (function.module, {}))
            lanes.setdefault(function.code.place, set()).add(frame.context.lane)

    def read(self, frame: Frame, statement: Statement, context: Context) -> None:
        """Statements are not asked for."""

    def by_row(self, path: str) -> dict[int, set[str]]:
        """Return the lanes of the functions in the module at `path` by their first row."""
        if path not in self._called:
            return {}
        module, lanes = self._called[path]
        return {module.span(place).start.row: names for place, names in lanes.items()}


# Build a program, run the rules on it, and return what was found with the program.
BuildStep = Callable[[Batch, Job, Observer | None, Store | None], tuple[Analysis, Program | None]]


class ReadProgram(NamedTuple):
    """A program that was analyzed, and what was found.

    `program` is None where its reading failed; `lanes` says where its functions are called.
    """

    analysis: Analysis
    program: Program | None
    lanes: LaneRecorder

    @property
    def dependencies(self) -> DiskDependencies:
        return self.analysis.dependencies or DiskDependencies(is_consistent=False)


class EditorState:
    """The results of the last check of a project's files.

    step: builds a program and runs the rules on it. checkpoint: called now and then; it raises
    Cancelled to end a check. first: the file (absolute) whose findings are wanted first.
    """

    def __init__(self, step: BuildStep, checkpoint: Callable[[], None] = lambda: None) -> None:
        self.memo = Memo()
        self._step = step
        self.disk = CheckedDisk()
        self.first: str | None = None
        self._checkpoint = checkpoint
        self._projects: dict[Settings, ProjectPrograms] = {}

    def refresh(self) -> None:
        """Note that files on the disk may have changed, come or gone."""
        self.disk.refresh()

    def lay_over(self, unsaved: Mapping[str, bytes], first: str | None = None) -> None:
        """Take in the bytes of unsaved files, by name."""
        self.disk.lay_over({os.path.abspath(name): data for name, data in unsaved.items()})
        self.first = first
        for project in self._projects.values():
            project.is_partial = False

    @property
    def is_partial(self) -> bool:
        """Return whether some findings of the last check are those of an earlier one."""
        return any(project.is_partial for project in self._projects.values())

    def project(self, batch: Batch) -> ProjectPrograms:
        """Return the programs of these files, with what the last check has found in them."""
        new = ProjectPrograms(self._step, self.disk, self.memo)
        project = self._projects.setdefault(batch.settings, new)
        project.begin(batch._replace(checkpoint=self._checkpoint), self.first)
        return project

    @gc_disabled()
    def validate_partial_check(self, first: str) -> None:
        """Analyze a part of each program for a file, and see if that finds the same in it."""
        for project in self._projects.values():
            project.validate_partial_check(first)

    def programs_of(self, path: str) -> Iterable[ReadProgram]:
        """Return the programs that read the module at `path` (absolute) in the last check."""
        for project in self._projects.values():
            yield from project.programs_of(path)


class ProjectPrograms:
    """The workers of a check in an editor, with the programs of the last check.

    is_partial: of the programs that the last edit concerns, only the edited file's findings are
    those of its newest text.
    """

    batch: Batch
    queries: Queries

    def __init__(self, step: BuildStep, disk: CheckedDisk, memo: Memo) -> None:
        self._step = step
        self._disk = disk
        self._memo = memo
        self.is_partial = False
        self.programs: dict[Job, ReadProgram] = {}
        self._outdated: dict[Job, ReadProgram] = {}
        self._partial: dict[Job, ReadProgram] = {}
        self._is_trusted: dict[tuple[Job, str], bool] = {}
        self._store = Store()
        self._first: str | None = None

    def begin(self, batch: Batch, first: str | None) -> None:
        """Begin a check; `first` is the file whose findings are wanted before the others'."""
        # The queries keep what they have decoded, which a keystroke in a body does not change.
        if not hasattr(self, "queries") or batch != self.batch:
            self.queries = Queries(batch, self._disk, self._memo)
        self.batch = batch
        self._first = first
        self.is_partial = False

    def recall(self, jobs: Iterable[Job]) -> dict[Job, Analysis]:
        """Return what was found in the programs none of whose inputs has changed."""
        by_identity = {identity(job): job for job in jobs}
        for programs in (self.programs, self._outdated, self._partial):
            for job in [job for job in programs if job not in by_identity]:
                del programs[job]
        for job, read in list(self.programs.items()):
            before = read.dependencies
            if not self._disk.answers_as_before(before) or not before.is_consistent:
                self._outdated[job] = self.programs.pop(job)
        return {by_identity[job]: read.analysis for job, read in self.programs.items()}

    def remember(self, job: Job, analysis: Analysis) -> None:
        """Do nothing: `analyze` has kept the program."""

    def search(self, step: SearchStep, filenames: Sequence[str]) -> Search:
        return LocalWorkers(self.batch, 1, Progress()).search(step, filenames)

    def analyze(self, step: ProgramStep, jobs: Sequence[Job]) -> Iterator[tuple[Job, Analysis]]:
        """Analyze the programs that have changed; of one, the part around `first` may do."""
        for job in jobs:
            analysis = None
            if self._first is not None:
                analysis = self._partial_check(identity(job), self._first)
                self.is_partial = self.is_partial or analysis is not None
            yield job, analysis or self._checked(identity(job))

    def programs_of(self, path: str) -> Iterator[ReadProgram]:
        """Return the programs that read the module at `path`; parts, where those are newer."""
        for job in {*self.programs, *self._outdated}:
            read = self.programs.get(job) or self._partial.get(job) or self._outdated[job]
            if path in read.dependencies.files and read.program is not None:
                yield read

    def _checked(self, job: Job) -> Analysis:
        if self.batch.checkpoint is not None:
            self.batch.checkpoint()
        self.programs[job] = self._read(self.batch, job)
        self._outdated.pop(job, None)
        self._partial.pop(job, None)
        return self.programs[job].analysis

    def _partial_check(self, job: Job, first: str) -> Analysis | None:
        """Return what its part of the program finds in `first`, and what was found in the others.

        None where that part cannot be trusted, or is the whole.
        """
        before = self._outdated.get(job)
        if before is None or not self._is_trusted.get((job, first)):
            return None
        if (part := slice_for_file(job, self._graph(), first)) is None:
            return None
        self._partial[job] = self._read(self.batch, part)
        others = (finding for finding in before.analysis.findings if not is_in(finding, first))
        here = findings_in(self._partial[job].analysis.findings, first)
        return before.analysis._replace(findings=(*others, *here), dependencies=None)

    def validate_partial_check(self, first: str) -> None:
        """Find out if the part that concerns a file finds in it what the whole program finds.

        Nothing ends that the first time: who types at once would never get an early answer.
        """
        if not self.programs:
            return
        graph = self._graph()
        for job, read in list(self.programs.items()):
            if (part := slice_for_file(job, graph, first)) is None:
                continue
            is_known = (job, first) in self._is_trusted
            batch = self.batch if is_known else self.batch._replace(checkpoint=None)
            findings = self._read(batch, part).analysis.findings
            expected = findings_in(read.analysis.findings, first)
            self._is_trusted[job, first] = set(findings_in(findings, first)) == set(expected)

    def _graph(self) -> ImportGraph:
        imports = self.queries.imports(DiskDependencies())
        return ImportGraph(Files(self.batch.disk, installed=installed()), imports)

    def _read(self, batch: Batch, job: Job) -> ReadProgram:
        self._store.begin()
        lanes = LaneRecorder(batch.checkpoint)
        analysis, program = self._step(batch, job, lanes, self._store)
        return ReadProgram(analysis, program, lanes)


def identity(job: Job) -> Job:
    """Return what makes a program the same one between two checks."""
    return job._replace(size=0)


def slice_for_file(job: Job, graph: ImportGraph, first: str) -> Job | None:
    """Return the entry points that reach the file `first`; None where that is none, or all.

    Those that import others come before these: what is called is then read only once.
    """
    reached = {seed: graph.reached(os.path.abspath(seed)) for seed in job.seeds}
    seeds = [seed for seed in job.seeds if first in reached[seed]]
    if not 0 < len(seeds) < len(job.seeds):
        return None
    seeds.sort(key=lambda seed: -len(reached[seed]))
    return job._replace(seeds=tuple(seeds))


def findings_in(findings: Iterable[Finding], path: str) -> Iterator[Finding]:
    return (finding for finding in findings if is_in(finding, path))


def is_in(finding: Finding, path: str) -> bool:
    """Return whether a finding is in the file at `path` (absolute)."""
    return os.path.abspath(finding.span.filename) == path
