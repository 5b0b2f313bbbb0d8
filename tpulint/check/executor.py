"""The workers of a check: this process, or several side by side.

The steps themselves are functions that `driver.py` hands in.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.programs import Prefiltered, merge
from tpulint.check.progress import Progress
from tpulint.codes import RULES
from tpulint.collector import collect_if_many
from tpulint.disk import PassedOver, note_passed_over, take_passed_over
from tpulint.frontends import installed, targets_of
from tpulint.incremental.disk import DiskDependencies, TrackedDisk
from tpulint.incremental.model import Analysis, Batch, FileFailure, Job

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool
    from concurrent.futures import Future

    from tpulint.frontends import Targets

T = TypeVar("T")

MIN_FILES_FOR_POOL = 200  # below it a second process costs more than it saves
MIN_SEEDS_FOR_POOL = 5
MIN_FILES_FOR_PROCESS = 50  # of a program: below it a process costs more than its garbage
MIN_CHUNK_FILES = 100  # that one process searches in a turn
MAX_CHUNKS = 128  # what was asked of the disk comes back once per chunk
KILLED = "not analyzed: its process was killed"


class Search(NamedTuple):
    """What was found in files: by their bytes, in their imports, and what was asked for each."""

    prefiltered: Prefiltered = Prefiltered()
    imports: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    asked_for_imports: DiskDependencies = DiskDependencies()
    asked_for_names: DiskDependencies = DiskDependencies()
    passed_over: tuple[PassedOver, ...] = ()


# Search the bytes of some files of a batch; the graph, if any, learns what they import.
SearchStep = Callable[[Batch, Sequence[str], "Targets", ImportGraph | None], Prefiltered]
ProgramStep = Callable[[Batch, Job], Analysis]


class LocalWorkers(ExitStack):
    """This process, or up to `processes` of them, which end with the context."""

    def __init__(self, batch: Batch, processes: int, progress: Progress) -> None:
        super().__init__()
        self._batch = batch
        self._processes = processes
        self._progress = progress
        self._pool: Pool | None = None

    def search(self, step: SearchStep, filenames: Sequence[str]) -> Search:
        """Search the bytes of files, of many in all processes."""
        self._progress.step("reading files")
        if self._processes > 1 and len(filenames) > MIN_FILES_FOR_POOL:
            parts = self._searched(step, filenames)
            if parts is not None:
                return _merged(parts)
        disk = TrackedDisk(self._batch.disk)
        prefiltered = step(self._batch, filenames, targets_of(self._batch.settings, disk), None)
        return Search(prefiltered, asked_for_names=disk.dependencies)

    def _searched(self, step: SearchStep, filenames: Sequence[str]) -> list[Search] | None:
        """Search all files in chunks; None where a process has died."""
        size = max(MIN_CHUNK_FILES, len(filenames) // MAX_CHUNKS)
        chunks = [filenames[start : start + size] for start in range(0, len(filenames), size)]
        pool = self._start(self._processes)

        def search_all() -> list[Search]:
            return list(pool.map(partial(_search_chunk, step), chunks))

        parts = _unless_broken(search_all)
        # They have nothing else to do while the programs are found.
        for _ in range(self._processes):
            _unless_broken(pool.submit, load_analyzer)
        return parts

    def analyze(self, step: ProgramStep, jobs: Sequence[Job]) -> Iterator[tuple[Job, Analysis]]:
        """Analyze programs, the largest first, and yield them in the given order.

        One whose process dies is analyzed again, in a process of its own.
        """
        seeds = sum(len(job.seeds) for job in jobs)
        is_worth_a_pool = len(jobs) > 1 and seeds >= MIN_SEEDS_FOR_POOL
        if self._pool is None and self._processes > 1 and is_worth_a_pool:
            load_analyzer()
            self._start(min(self._processes, len(jobs)))
        futures: dict[Job, Future[Analysis | None] | None] = {}
        if self._pool is not None:
            for job in sorted(jobs, key=lambda job: -job.size):
                futures[job] = _unless_broken(self._pool.submit, _analyze_in_worker, step, job)
        return self._results(step, jobs, futures)

    def _results(
        self,
        step: ProgramStep,
        jobs: Sequence[Job],
        futures: dict[Job, Future[Analysis | None] | None],
    ) -> Iterator[tuple[Job, Analysis]]:
        for number, job in enumerate(jobs):
            self._progress.step("programs checked:", number, len(jobs))
            if job not in futures:
                yield job, analyzed(step, self._batch, job)
                continue
            # Where a process died, another program may have been the cause.
            future = futures[job]
            analysis = None if future is None else _unless_broken(future.result)
            analysis = analysis or _analyzed_alone(step, self._batch, job)
            yield job, analysis or Analysis(failures=(FileFailure(job.seeds[0], KILLED),))

    def _start(self, processes: int) -> Pool:
        from tpulint.worker_pool import worker_pool

        self._pool = self.enter_context(worker_pool(processes, partial(_begin, self._batch)))
        return self._pool


def load_analyzer() -> None:
    from tpulint import rules

    for name in ("check.analysis", "frontends.tensorflow.build_program", "syntax.lazy_module"):
        importlib.import_module(f"tpulint.{name}")
    for code in RULES:
        rules.load(code)


def analyzed(step: ProgramStep, batch: Batch, job: Job) -> Analysis:
    """Return the analysis of a program, and give back the memory of earlier ones before it."""
    collect_if_many()
    analysis = step(batch, job)
    return analysis._replace(passed_over=(*analysis.passed_over, *take_passed_over()))


def _merged(parts: Sequence[Search]) -> Search:
    imports = {path: files for part in parts for path, files in part.imports.items()}
    for_imports, for_names = DiskDependencies(), DiskDependencies()
    for part in parts:
        note_passed_over(part.passed_over)
        for_imports.update(part.asked_for_imports)
        for_names.update(part.asked_for_names)
    return Search(merge([part.prefiltered for part in parts]), imports, for_imports, for_names)


def _unless_broken(use: Callable[..., T], *arguments: object) -> T | None:
    """Return what a use of a pool gives; None where a process of the pool has died."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return use(*arguments)
    except BrokenProcessPool:
        return None


# A process that works for another.


class _Searcher:
    """The disk of such a process: a question that it has asked before is not recorded again."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._for_imports = TrackedDisk(batch.disk)
        self._for_names = TrackedDisk(batch.disk)
        self._graph = ImportGraph(Files(self._for_imports, installed=installed()))
        self._targets = targets_of(batch.settings, self._for_names)

    def search(self, step: SearchStep, filenames: Sequence[str]) -> Search:
        prefiltered = step(self.batch, filenames, self._targets, self._graph)
        paths = map(os.path.abspath, filenames)
        imports = {path: self._graph.imported(path) for path in paths}
        return Search(
            prefiltered,
            imports,
            self._for_imports.take(),
            self._for_names.take(),
            take_passed_over(),
        )


_searcher: _Searcher | None = None


def _begin(batch: Batch) -> None:
    global _searcher
    _searcher = _Searcher(batch)
    _begin_afresh()


def _begin_afresh() -> None:
    gc.disable()  # see `collect_if_many`
    take_passed_over()  # what the other has noted


def _search_chunk(step: SearchStep, filenames: Sequence[str]) -> Search:
    assert _searcher is not None
    return _searcher.search(step, filenames)


def _analyze_in_worker(step: ProgramStep, job: Job) -> Analysis | None:
    """Analyze a program, a large one in a process of its own; return None if that died.

    What is left of the program ends with its process. To collect it takes a tenth of the time of
    the analysis. Only a fork is cheaper.
    """
    from tpulint.worker_pool import safe_context

    assert _searcher is not None
    if job.size < MIN_FILES_FOR_PROCESS or safe_context().get_start_method() != "fork":
        return analyzed(step, _searcher.batch, job)
    return _analyzed_alone(step, _searcher.batch, job)


def _analyzed_alone(step: ProgramStep, batch: Batch, job: Job) -> Analysis | None:
    """Analyze a program in a process of its own; return None if that died."""
    from tpulint.worker_pool import worker_pool

    with worker_pool(1, _begin_afresh) as pool:
        return _unless_broken(pool.submit(analyzed, step, batch, job).result)
