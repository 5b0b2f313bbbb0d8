"""The places where the steps of an analysis run: this process, or several side by side.

An executor also knows which programs have not changed since an earlier check. The steps
themselves are functions that `driver.py` hands in.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from tpulint.disk import PassedOver, note_passed_over, take_passed_over
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.collector import collect_if_many, take_apart_if_many
from tpulint.pipeline.failure import FileFailure
from tpulint.pipeline.file_signs import FileSigns
from tpulint.pipeline.kept_division import KeptDivision
from tpulint.pipeline.kept_programs import KeptPrograms
from tpulint.pipeline.kept_signs import KeptSigns
from tpulint.pipeline.prefilter import NOTHING, Prefiltered, merge
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.stamps import Stamps

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool
    from concurrent.futures import Future

    from tpulint.analysis.interpreter.observer import Observer
    from tpulint.analysis.resolver.files import Asked
    from tpulint.analysis.resolver.import_graph import ImportGraph
    from tpulint.pipeline.program_analysis import ProgramAnalysis
    from tpulint.syntax.summaries import Store

T = TypeVar("T")

FEW = 200  # files below which a second process costs more than it saves
KILLED = "not analyzed: its process was killed"
ALONE = 4  # files with the seam that are read in this process
CHUNK = 100  # files that one process looks at in a turn, at least
TURNS = 128  # at most: after each, all that was asked of the disk so far is looked through


class PrefilterStep(Protocol):
    """Search the bytes of some files of a batch, less those whose signs are known.

    `graph` learns what the others import.
    """

    def __call__(
        self,
        batch: Batch,
        filenames: Sequence[str],
        known: Mapping[str, FileSigns] = ...,
        graph: ImportGraph | None = ...,
    ) -> Prefiltered: ...


class DivisionStep(Protocol):
    """Find the programs among the files of a batch."""

    def __call__(self, batch: Batch, prefiltered: Prefiltered, graph: ImportGraph) -> list[Job]: ...


class NamesStep(Protocol):
    """Find what is wrong with names alone."""

    def __call__(self, batch: Batch, prefiltered: Prefiltered) -> Analysis: ...


class ProgramStep(Protocol):
    """Analyze one program."""

    def __call__(
        self, batch: Batch, job: Job, observer: Observer | None = None, store: Store | None = None
    ) -> ProgramAnalysis: ...


class SearchedChunk(NamedTuple):
    """The signs in some files, what these import, and what was asked to find that."""

    signs: Prefiltered
    imports: dict[str, tuple[str, ...]]
    asked: Asked
    passed_over: tuple[PassedOver, ...] = ()


class Executor(Protocol):
    """A way to run the steps on a batch."""

    def prefilter(self, step: PrefilterStep) -> Prefiltered: ...
    def divide(self, prefiltered: Prefiltered, step: DivisionStep) -> list[Job]: ...
    def names(self, prefiltered: Prefiltered, step: NamesStep) -> Analysis: ...
    def programs(self, jobs: Sequence[Job], step: ProgramStep) -> Iterable[Analysis]: ...


class ProcessExecutor:
    """Runs the steps in up to `processes` processes; what was found before is recalled from disk.

    A context manager: the processes end with it.
    """

    def __init__(
        self,
        batch: Batch,
        processes: int,
        progress: Progress,
        stamps: Stamps | None = None,
        signs: KeptSigns | None = None,
    ) -> None:
        stamps = stamps or Stamps()
        self._batch = batch
        self._kept = KeptPrograms(batch)
        self._signs = signs or KeptSigns(batch, stamps)
        self._division = KeptDivision(batch, stamps)
        self._processes = 1 if batch.given else processes
        self._progress = progress
        self._stack = ExitStack()
        self._pool: Pool | None = None
        self._ahead: list[SearchedChunk] = []

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.__exit__(*exception)  # type: ignore[arg-type]

    def prefilter(self, step: PrefilterStep) -> Prefiltered:
        """Search the bytes of the files that have changed, of many in all processes."""
        files, known = self._batch.filenames, self._signs.recall()
        parts = None
        if self._processes > 1 and len(files) - len(known) > FEW:
            pool = self._start(self._processes, known)
            self._progress.step("reading files")
            parts = self._searched(pool, step)
        self._progress.step("reading files")
        if parts is None:
            found = step(self._batch, files, known)
        else:
            found = merge([each.signs for each in parts])
            for each in parts:
                note_passed_over(each.passed_over)
            self._ahead = parts
        self._signs.remember(found.searched)
        return found._replace(searched=())

    def divide(self, prefiltered: Prefiltered, step: DivisionStep) -> list[Job]:
        """Find the programs, which are those of the last check if no import has changed."""
        if not prefiltered.seeds:
            return []
        jobs = self._division.recall(prefiltered)
        if jobs is not None:
            self._load_elsewhere()
            return jobs
        graph = self._graph(prefiltered)
        self._load_elsewhere()
        jobs = step(self._batch, prefiltered, graph)
        self._division.remember(prefiltered, graph, jobs)
        return jobs

    def _load_elsewhere(self) -> None:
        """Let the processes import what reads a program: they have nothing else to do meanwhile."""
        if self._pool is not None:
            for _ in range(self._processes):
                _submitted(self._pool, _load)

    def _graph(self, prefiltered: Prefiltered) -> ImportGraph:
        """Return the import graph; where all processes have read the files, they have found it."""
        if not self._ahead:
            return _new_graph(self._batch, *self._division.imported())
        ahead = {path: found for part in self._ahead for path, found in part.imports.items()}
        return _new_graph(self._batch, {}, all_asked(each.asked for each in self._ahead), ahead)

    def names(self, prefiltered: Prefiltered, step: NamesStep) -> Analysis:
        """Find what is wrong with names alone."""
        return step(self._batch, prefiltered)

    def programs(self, jobs: Sequence[Job], step: ProgramStep) -> Iterable[Analysis]:
        """Analyze the programs that have changed, the largest first; recall the others."""
        known = self._kept.recall(jobs)
        left = [job for job in jobs if job not in known]
        if self._pool is None and self._is_worth_a_pool(left):
            _load()
            self._start(min(self._processes, len(left)))
        futures: dict[Job, Future[Analysis] | None] = {}
        if self._pool is not None:
            for job in sorted(left, key=lambda job: -job.size):
                futures[job] = _submitted(self._pool, _elsewhere, step, job)
        self._signs.write()  # the processes are at work now
        self._division.entry.write()
        return self._results(jobs, known, futures, step)

    def _results(
        self,
        jobs: Sequence[Job],
        known: dict[Job, Analysis],
        futures: dict[Job, Future[Analysis] | None],
        step: ProgramStep,
    ) -> Iterator[Analysis]:
        """Wait for each program; one whose process dies is read again, in a process of its own."""
        for number, job in enumerate(jobs):
            self._progress.step("programs checked:", number, len(jobs))
            found = known.get(job)
            if found is None:
                if job in futures:
                    found = _result(futures[job]) or self._alone(step, job)
                else:
                    found = analyzed(step, self._batch, job)
                self._kept.remember(job, found)
            found.messages += self._kept.messages
            yield found

    def _alone(self, step: ProgramStep, job: Job) -> Analysis:
        """Analyze a program of which a process died: another one may have been the cause."""
        from tpulint.worker_pool import worker_pool

        with worker_pool(1, partial(_begin, self._batch, {})) as pool:
            found = _result(_submitted(pool, _elsewhere, step, job))
        if found is None:
            found = Analysis()
            found.failures.append(FileFailure(job.seeds[0], KILLED))
        return found

    def _is_worth_a_pool(self, jobs: Sequence[Job]) -> bool:
        return self._processes > 1 and len(jobs) > 1 and sum(len(job.seeds) for job in jobs) > ALONE

    def _start(self, processes: int, known: Mapping[str, FileSigns] = NOTHING) -> Pool:
        from tpulint.worker_pool import worker_pool

        begin = partial(_begin, self._batch, dict(known))
        self._pool = self._stack.enter_context(worker_pool(processes, begin))
        return self._pool

    def _searched(self, pool: Pool, step: PrefilterStep) -> list[SearchedChunk] | None:
        """Search all files in chunks; None where a process has died."""
        from concurrent.futures.process import BrokenProcessPool

        files = len(self._batch.filenames)
        size = max(CHUNK, files // TURNS)
        chunks = [slice(start, start + size) for start in range(0, files, size)]
        try:
            return list(pool.map(partial(_prefilter_chunk, step), chunks))
        except BrokenProcessPool:
            return None


def processes_of(jobs: int | None) -> int:
    """Return the number of processes for the setting `jobs`."""
    return jobs or os.cpu_count() or 1


def _load() -> None:
    """Import what reads a program."""
    from tpulint import rules
    from tpulint.codes import RULES

    for name in ("pipeline.summarize", "analysis.build_program", "syntax.summaries"):
        importlib.import_module(f"tpulint.{name}")
    for code in RULES:
        rules.load(code)


def analyzed(step: ProgramStep, batch: Batch, job: Job) -> Analysis:
    """Return the analysis of a program, which itself is no longer wanted.

    What the last one leaves goes away with the process, so it is collected before, not after.
    """
    collect_if_many()
    found = step(batch, job)
    if found.program is not None:
        take_apart_if_many(found.program)
    found.analysis.pass_over(take_passed_over())
    return found.analysis


def _submitted(pool: Pool, work: Callable[..., T], *arguments: object) -> Future[T] | None:
    """Submit work; None where the pool is broken: a process of it has died."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return pool.submit(work, *arguments)
    except BrokenProcessPool:
        return None


def _result(future: Future[Analysis] | None) -> Analysis | None:
    """Return what was found in a program; None where a process of the pool has died."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return None if future is None else future.result()
    except BrokenProcessPool:
        return None


def all_asked(parts: Iterable[Asked]) -> Asked:
    from tpulint.analysis.resolver.files import Asked

    return Asked(*(frozenset().union(*each) for each in zip(*parts, strict=True)))


def _new_graph(
    batch: Batch,
    known: Mapping[str, tuple[str, ...]],
    asked: Asked | None = None,
    ahead: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> ImportGraph:
    from tpulint.analysis.resolver.files import Asked, Files
    from tpulint.analysis.resolver.import_graph import ImportGraph

    return ImportGraph(
        Files(batch.given, batch.disk, installed=INSTALLED), known, asked or Asked(), ahead
    )


_batch: Batch | None = None  # of a process that works for another
_signs: Mapping[str, FileSigns] = NOTHING  # that are known already
_graph: ImportGraph | None = None  # of that process, too


def _begin(batch: Batch, known: Mapping[str, FileSigns]) -> None:
    """Start a process that works for another."""
    global _batch, _signs
    _batch, _signs = batch, known
    gc.disable()  # see `collect_if_many`
    take_passed_over()  # what the other has noted


def _prefilter_chunk(step: PrefilterStep, chunk: slice) -> SearchedChunk:
    global _graph
    assert _batch is not None
    _graph = _graph or _new_graph(_batch, {})
    before = _graph.asked
    files = _batch.filenames[chunk]
    found = step(_batch, files, _signs, _graph)
    imports = {path: _graph.imported(path) for path in map(os.path.abspath, files)}
    return SearchedChunk(found, imports, _graph.asked - before, take_passed_over())


def _elsewhere(step: ProgramStep, job: Job) -> Analysis:
    assert _batch is not None
    return analyzed(step, _batch, job)
