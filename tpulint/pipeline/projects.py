"""From files to findings: each program by itself, side by side, and nothing twice."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.kept_programs import KeptPrograms
from tpulint.pipeline.programs import of_names, one_program, programs
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.screen import Screened, screen, together

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings

Result = TypeVar("Result")

FEW = 200  # files below which a second process costs more than it saves
ALONE = 4  # files with the seam that are read in this process
ISOLATED = 2  # processes that parse the files of a program of which one died
CHUNK = 100  # files that one process looks at in a turn


def analyse(
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    codes: frozenset[str],
    settings: Settings,
    *,
    context: Sequence[str] = (),
    cache: str | None = None,
    processes: int = 1,
    progress: Progress | None = None,
    scheduler: str | None = None,
) -> Analysis:
    """Return the findings in `filenames`; `given` holds bytes to use instead of the disk's.

    The files of `context` are of the same programs, and nothing is asked about them. `scheduler`
    is the address of a cluster that reads the programs.
    """
    ordered = tuple(sorted((*filenames, *context), key=os.path.abspath))
    run = Run(ordered, frozenset(context), given, codes, settings, cache)
    kept = KeptPrograms(run)
    if scheduler is not None and not given:
        return elsewhere(run, kept, processes, scheduler, progress or Progress())
    if processes > 1 and len(ordered) > FEW and not given:
        return side_by_side(run, kept, processes, progress or Progress())
    progress = progress or Progress()
    progress.step("reading files")
    screened = screen(ordered, given, settings, run.context)
    jobs = programs(run, screened)
    known = {job: found for job in jobs if (found := kept.recall(job))}
    left = [job for job in jobs if job not in known]
    if (
        processes > 1
        and sum(len(job.seeds) for job in left) > ALONE
        and len(left) > 1
        and not given
    ):
        from tpulint.worker_pool import worker_pool

        _load()
        with worker_pool(min(processes, len(left)), partial(_begin, run)) as pool:
            return shared_out(run, screened, jobs, known, kept, pool, progress)
    whole = of_names(run, screened)
    for number, job in enumerate(jobs):
        progress.step("programs checked:", number, len(jobs))
        whole.add(known.get(job) or read_now(run, job, kept))
    return whole


def read_now(run: Run, job: Job, kept: KeptPrograms) -> Analysis:
    """Read a program, and keep what is found."""
    found = one_program(run, job)
    kept.remember(job, found)
    return found


def side_by_side(run: Run, kept: KeptPrograms, processes: int, progress: Progress) -> Analysis:
    """Look at the files in several processes, then understand the programs in them."""
    from tpulint.worker_pool import worker_pool

    with worker_pool(processes, partial(_begin, run)) as pool:
        progress.step("reading files")
        screened = _screened(run, pool)
        if screened.seeds:
            for _ in range(processes):  # they have nothing else to do meanwhile
                _submitted(pool, _load)
        jobs = programs(run, screened)
        known = {job: found for job in jobs if (found := kept.recall(job))}
        return shared_out(run, screened, jobs, known, kept, pool, progress)


def elsewhere(
    run: Run, kept: KeptPrograms, processes: int, scheduler: str, progress: Progress
) -> Analysis:
    """Look at the files here, and have the programs in them read by a cluster.

    A program that its workers die of is read here, each of its files in a process of its own.
    """
    from tpulint.pipeline.cluster import read_on_cluster
    from tpulint.worker_pool import worker_pool

    progress.step("reading files")
    if processes > 1 and len(run.filenames) > FEW:
        with worker_pool(processes, partial(_begin, run)) as pool:
            screened = _screened(run, pool)
    else:
        screened = screen(run.filenames, run.given, run.settings, run.context)
    jobs = programs(run, screened)
    known = {job: found for job in jobs if (found := kept.recall(job))}
    left = [job for job in jobs if job not in known]
    read = read_on_cluster(scheduler, run, left, progress)
    whole = of_names(run, screened)
    for job in jobs:
        done = known.get(job)
        if done is None:
            done = read[job] or one_program(run, job._replace(isolated=ISOLATED))
            kept.remember(job, done)
        whole.add(done)
    return whole


def shared_out(
    run: Run,
    screened: Screened,
    jobs: Sequence[Job],
    known: Mapping[Job, Analysis],
    kept: KeptPrograms,
    pool: Executor,
    progress: Progress,
) -> Analysis:
    """Understand the programs in the pool's processes, the largest first.

    A program whose process dies is read again, each of its files parsed in a process of its own.
    """
    left = [job for job in jobs if job not in known]
    order = sorted(left, key=lambda job: -job.size)
    futures = {job: _submitted(pool, _elsewhere, job) for job in order}
    whole = of_names(run, screened)
    for number, job in enumerate(jobs):
        progress.step("programs checked:", number, len(jobs))
        done = known.get(job)
        if done is None:
            done = _result(futures[job])
            done = done or one_program(run, job._replace(isolated=ISOLATED))
            kept.remember(job, done)
        whole.add(done)
    return whole


def _load() -> None:
    """Import what reads a program."""
    from tpulint import rules

    for name in ("pipeline.analyze", "analysis.build_program", "syntax.summary_cache"):
        importlib.import_module(f"tpulint.{name}")
    for code in rules.written():
        rules.load(code)


def _submitted(
    pool: Executor, work: Callable[..., Result], *arguments: Job
) -> Future[Result] | None:
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


def _screened(run: Run, pool: Executor) -> Screened:
    """Screen the bytes of the files in all processes."""
    from concurrent.futures.process import BrokenProcessPool

    starts = range(0, len(run.filenames), CHUNK)
    try:
        return together(list(pool.map(_screen_part, starts)))
    except BrokenProcessPool:
        return screen(run.filenames, run.given, run.settings, run.context)


_run: Run | None = None  # of a process that works for another


def _begin(run: Run) -> None:
    """Start a process that works for another: it gives back the memory of each program."""
    global _run
    _run = run
    gc.enable()


def _screen_part(start: int) -> Screened:
    assert _run is not None
    part = _run.filenames[start : start + CHUNK]
    return screen(part, _run.given, _run.settings, _run.context)


def _elsewhere(job: Job) -> Analysis:
    assert _run is not None
    return one_program(_run, job)
