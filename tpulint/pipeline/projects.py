"""From files to findings: projects side by side, and nothing twice.

Files of one project are one program and are understood together. Where a run spans
several projects, each is a task for a process of its own.
"""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tpulint.finding import Finding
from tpulint.pipeline.progress import Progress

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
FEW = 200  # files below which a second process costs more than it saves


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
        self.times: defaultdict[str, float] = defaultdict(float)  # seconds by rule

    def add(self, other: Analysis) -> None:
        self.findings += other.findings
        self.messages += [each for each in other.messages if each not in self.messages]
        self.failed = self.failed or other.failed
        self.read = self.read or other.read
        self.imported += other.imported
        self.marked += other.marked
        for code, seconds in other.times.items():
            self.times[code] += seconds


class Job(NamedTuple):
    """The work of one process."""

    filenames: tuple[str, ...]
    codes: frozenset[str]
    settings: Settings
    cache: str | None
    processes: int


def analyse(
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    codes: frozenset[str],
    settings: Settings,
    *,
    cache: str | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Analysis:
    """Return the findings in `filenames`; `given` holds bytes to use instead of the disk's."""
    groups = projects(filenames) if processes > 1 and len(filenames) > FEW and not given else []
    if len(groups) < 2:
        job = Job(tuple(filenames), codes, settings, cache, processes)
        return one_program(job, given, progress)
    jobs = [Job(tuple(group), codes, settings, cache, 1) for group in groups]
    return side_by_side(jobs, processes, progress or Progress())


def projects(filenames: Sequence[str]) -> list[list[str]]:
    """The files by project: the folders below their common one, unless that is a project's."""
    paths = [os.path.abspath(each) for each in filenames]
    common = os.path.commonpath(paths)
    above = common
    while True:
        if any(os.path.exists(os.path.join(above, mark)) for mark in MARKS):
            return [list(filenames)]
        parent = os.path.dirname(above)
        if parent == above:
            break
        above = parent
    groups: dict[str, list[str]] = {}
    for filename, path in zip(filenames, paths, strict=True):
        first = path[len(common) :].lstrip(os.sep).split(os.sep)[0]
        groups.setdefault(first, []).append(filename)
    return list(groups.values())


def side_by_side(jobs: list[Job], processes: int, progress: Progress) -> Analysis:
    """Each project in a process; one whose process dies is understood again, file by file safe."""
    from concurrent.futures.process import BrokenProcessPool

    from tpulint.worker_pool import worker_pool

    results: list[Analysis | None] = [None] * len(jobs)
    # Each process reads several projects, and gives back the memory of one before the next.
    with worker_pool(processes, gc.enable) as pool:
        order = sorted(range(len(jobs)), key=lambda number: -weight(jobs[number]))
        futures = {number: pool.submit(one_program, jobs[number], {}) for number in order}
        progress.step("projects checked:", 0, len(jobs))
        for done, (number, future) in enumerate(futures.items(), 1):
            try:
                results[number] = future.result()
            except BrokenProcessPool:
                continue
            progress.step("projects checked:", done, len(jobs))
    whole = Analysis()
    for job, result in zip(jobs, results, strict=True):
        if result is None:
            again = Job(job.filenames, job.codes, job.settings, job.cache, max(processes, 2))
            result = one_program(again, {})
        whole.add(result)
    return whole


def weight(job: Job) -> int:
    """Return a rough measure of how much there is to read: the number of files."""
    return len(job.filenames)


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


@uncollected()
def one_program(job: Job, given: Mapping[str, bytes], progress: Progress | None = None) -> Analysis:
    """Understand the files of one program and run the rules; a file that breaks it is left out."""
    from tpulint.diagnostics.suppression_prefilter import may_name_own_codes
    from tpulint.pipeline.analyze import understand

    found = Analysis()
    progress = progress or Progress()
    files = itertools.count(1)

    def watch(filename: str, data: bytes) -> None:
        done = next(files)
        progress.step("files read:", done, len(job.filenames))
        if done == len(job.filenames):
            progress.step("following the programs")
        if may_name_own_codes(data):
            found.marked.append(filename)

    try:
        understanding = understand(
            job.filenames,
            given=given,
            settings=job.settings,
            cache=job.cache,
            jobs=job.processes,
            watch=watch,
        )
    except Exception as error:
        if len(job.filenames) == 1:
            found.failed = True
            found.messages.append(f"{job.filenames[0]}: internal error: {describe(error)}")
            return found
        half = len(job.filenames) // 2
        for part in (job.filenames[:half], job.filenames[half:]):
            found.add(one_program(Job(part, job.codes, job.settings, job.cache, 1), given))
        return found
    found.findings += understanding.findings
    found.messages += understanding.messages
    found.failed = any(each.startswith("internal error") for each in understanding.messages)
    program = understanding.program
    if program is None:
        return found
    found.read = True
    modules = program.modules
    asked = set(job.filenames)
    found.imported = [each.path for each in modules if each.filename not in asked]
    from tpulint import rules

    codes = [code for code in rules.written() if code in job.codes]
    for number, code in enumerate(codes, 1):
        progress.step("rules run:", number, len(codes))
        begun = time.perf_counter()
        try:
            found.findings += rules.run(program, {code})
        except Exception as error:
            found.failed = True
            found.messages.append(f"internal error in rule {code}: {describe(error)}")
        found.times[code] += time.perf_counter() - begun
    found.imported += program.targets.consulted
    return found


def describe(error: BaseException) -> str:
    """The error in one line, with the place in the code that a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"
