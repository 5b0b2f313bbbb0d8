"""From files to findings: each program by itself, side by side, and nothing twice.

A program is what imports bind together: files that show the seam are of one program where they
reach a common file. So what is found depends on the files alone, not on how many processes
share the work, on the order of the files or on the folder that they were found from.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tpulint.finding import Finding
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.screen import Screened, screen, together

if TYPE_CHECKING:
    from tpulint.analysis.domain.program import Program
    from tpulint.analysis.interpreter.observer import Observer
    from tpulint.analysis.options import Settings
    from tpulint.pipeline.analyze import Understanding

FEW = 200  # files below which a second process costs more than it saves
ALONE = 4  # files with the seam that are read in this process
CHUNK = 100  # files that one process looks at in a turn


class Analysis:
    """Findings, lines for standard error, and whether something of our own failed."""

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        messages: Iterable[str] = (),
        marked: Iterable[str] = (),
    ) -> None:
        self.findings = list(findings)
        self.messages = list(messages)
        self.failed = False
        self.read = False  # whether any file held something to read
        self.imported: list[str] = []  # files read that were not asked for
        self.marked = list(marked)  # files that may hold suppressions
        self.skipped: Counter[str] = Counter()  # functions not followed, by the reason
        self.times: defaultdict[str, float] = defaultdict(float)  # seconds by rule

    def add(self, other: Analysis) -> None:
        self.findings += other.findings
        self.messages += [each for each in other.messages if each not in self.messages]
        self.failed = self.failed or other.failed
        self.read = self.read or other.read
        self.imported += other.imported
        self.marked += other.marked
        self.skipped.update(other.skipped)
        for code, seconds in other.times.items():
            self.times[code] += seconds


class Run(NamedTuple):
    """All files of a run, in one order wherever it was started, and how they are read.

    context: those among them that nothing is reported of.
    """

    filenames: tuple[str, ...]
    context: frozenset[str]
    given: Mapping[str, bytes]
    codes: frozenset[str]
    settings: Settings
    cache: str | None


class Job(NamedTuple):
    """One program: its seeds, and by path the certainty with which soft placement is on."""

    seeds: tuple[str, ...]
    placed: Mapping[str, str]
    processes: int  # that parse it
    isolated: bool = False  # parsed in other processes only: a process died of it before


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
) -> Analysis:
    """Return the findings in `filenames`; `given` holds bytes to use instead of the disk's.

    The files of `context` are of the same programs, and nothing is asked about them.
    """
    ordered = tuple(sorted((*filenames, *context), key=os.path.abspath))
    run = Run(ordered, frozenset(context), given, codes, settings, cache)
    if processes > 1 and len(ordered) > FEW and not given:
        return side_by_side(run, processes, progress or Progress())
    progress = progress or Progress()
    progress.step("reading files")
    screened = screen(ordered, given, settings, run.context)
    whole = of_names(run, screened)
    jobs = programs(run, screened, processes)
    if processes > 1 and len(screened.seeds) > ALONE and not given:
        from tpulint.worker_pool import worker_pool

        with worker_pool(processes, partial(_begin, run)) as pool:
            shared_out(run, jobs, pool, processes, progress, whole)
        return whole
    for number, job in enumerate(jobs):
        progress.step("programs checked:", number, len(jobs))
        whole.add(one_program(run, job))
    return whole


def programs(run: Run, screened: Screened, processes: int) -> list[Job]:
    """The seeds by program; a program that reaches none of the files asked for is left out.

    One that is larger than all others together is parsed by several processes.
    """
    if not screened.seeds:
        return []
    from tpulint.analysis.disabled_estimators import of_one_home
    from tpulint.analysis.resolver.files import Files
    from tpulint.analysis.resolver.import_graph import ImportGraph, connected
    from tpulint.analysis.resolver.soft_programs import SoftPlacement

    graph = ImportGraph(Files(run.given))
    names = {os.path.abspath(each): each for each in screened.seeds}
    setters = {os.path.abspath(name): state for name, state in screened.setters}
    asked = {os.path.abspath(each) for each in run.filenames if each not in run.context}
    placement = SoftPlacement(graph, [*map(os.path.abspath, run.filenames)], setters)
    found = []
    for group in connected(graph, names, of_one_home(names, graph.data)):
        if not run.context or not asked.isdisjoint(group.all):
            placed = {path: state for path in group.seeds if (state := placement.of(path))}
            alone = processes if 2 * len(group.seeds) > len(names) else 1
            found.append(Job(tuple(names[path] for path in group.seeds), placed, alone))
    return found


def side_by_side(run: Run, processes: int, progress: Progress) -> Analysis:
    """Look at the files in several processes, then understand the programs in them."""
    from tpulint.worker_pool import worker_pool

    with worker_pool(processes, partial(_begin, run)) as pool:
        progress.step("reading files")
        screened = _screened(run, pool)
        whole = of_names(run, screened)
        jobs = programs(run, screened, processes)
        shared_out(run, jobs, pool, processes, progress, whole)
    return whole


def shared_out(
    run: Run,
    jobs: Sequence[Job],
    pool: Executor,
    processes: int,
    progress: Progress,
    whole: Analysis,
) -> None:
    """Understand the programs in the pool's processes, and add what is found to `whole`.

    A program whose process dies is read again, each of its files parsed in a process of its own.
    One that is larger than all others together is read here, its files parsed by several.
    """
    order = sorted(jobs, key=lambda job: -len(job.seeds))
    futures = {job.seeds: _submitted(pool, job) for job in order if job.processes == 1}
    for number, job in enumerate(jobs):
        progress.step("programs checked:", number, len(jobs))
        done = _result(futures[job.seeds]) if job.seeds in futures else one_program(run, job)
        if done is None:
            done = one_program(run, job._replace(processes=max(processes, 2), isolated=True))
        whole.add(done)


def _submitted(pool: Executor, job: Job) -> Future[Analysis] | None:
    """Submit a program; None where the pool is broken: a process of it has died."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return pool.submit(_elsewhere, job)
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


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: it walks the summaries over and over, and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def of_names(run: Run, screened: Screened) -> Analysis:
    """Return the findings in names alone, whatever program they are of."""
    found = Analysis(screened.findings, marked=screened.marked)
    found.imported += screened.consulted
    if screened.spelled:
        from tpulint.analysis.domain.program import Program
        from tpulint.analysis.names.target_release import Targets

        targets = Targets(run.settings.target_tensorflow)
        judge(Program(spelled=list(screened.spelled), targets=targets), run, found)
    return found


@uncollected()
def one_program(run: Run, job: Job) -> Analysis:
    """Understand the files of one program and run the rules; a file that breaks it is left out."""
    found = Analysis()
    try:
        understanding = understand_job(run, job)
    except Exception as error:
        if len(job.seeds) == 1:
            found.failed = True
            found.messages.append(f"{job.seeds[0]}: internal error: {describe(error)}")
            return found
        half = len(job.seeds) // 2
        for part in (job.seeds[:half], job.seeds[half:]):
            found.add(one_program(run, job._replace(seeds=part, processes=1)))
        return found
    found.findings += understanding.findings
    found.messages += understanding.messages
    found.failed = any(each.startswith("internal error") for each in understanding.messages)
    program = understanding.program
    if program is not None:
        judge(program, run, found)
        found.skipped.update(program.skipped)
        asked = set(run.filenames)
        found.imported += [each.path for each in program.modules if each.filename not in asked]
    return found


def understand_job(run: Run, job: Job, observer: Observer | None = None) -> Understanding:
    """Read the files of one program."""
    from tpulint.pipeline.analyze import understand

    return understand(
        job.seeds,
        given=run.given,
        settings=run.settings,
        cache=run.cache,
        jobs=job.processes,
        isolated=job.isolated,
        files=run.filenames,
        placed=job.placed,
        observer=observer,
    )


def judge(program: Program, run: Run, found: Analysis) -> None:
    """Add what the rules find; one that fails costs its own findings only."""
    from tpulint import rules

    found.read = True
    for code in rules.written():
        if code in run.codes:
            begun = time.perf_counter()
            try:
                found.findings += rules.run(program, {code})
            except Exception as error:
                found.failed = True
                found.messages.append(f"internal error in rule {code}: {describe(error)}")
            found.times[code] += time.perf_counter() - begun
    found.imported += program.targets.consulted


def describe(error: BaseException) -> str:
    """The error in one line, with the place in the code that a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"
