"""One program: its files, and what the rules find in it.

A program is what imports bind together: files that show the seam are of one program where they
reach a common file. So what is found depends on the files alone, not on how many processes
share the work, on the order of the files or on the folder that they were found from.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tpulint.pipeline.analysis import Analysis, Inputs
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.kept_programs import counting
from tpulint.pipeline.screen import Screened

if TYPE_CHECKING:
    from tpulint.analysis.domain.program import Program
    from tpulint.analysis.interpreter.observer import Observer
    from tpulint.analysis.resolver.import_graph import ImportGraph
    from tpulint.pipeline.analyze import Understanding
    from tpulint.syntax.summary_cache import Store


def programs(run: Run, screened: Screened, graph: ImportGraph | None = None) -> list[Job]:
    """The seeds by program; a program that reaches none of the files asked for is left out.

    `graph` is the import graph of the files, where somebody has it already.
    """
    if not screened.seeds:
        return []
    from tpulint.analysis.disabled_estimators import of_one_home
    from tpulint.analysis.resolver.files import Files
    from tpulint.analysis.resolver.import_graph import ImportGraph as NewGraph
    from tpulint.analysis.resolver.import_graph import connected
    from tpulint.analysis.resolver.soft_programs import SoftPlacement

    graph = graph or NewGraph(Files(run.given))
    names = {os.path.abspath(each): each for each in screened.seeds}
    setters = {os.path.abspath(name): state for name, state in screened.setters}
    asked = {os.path.abspath(each) for each in run.filenames if each not in run.context}
    placement = SoftPlacement(graph, [*map(os.path.abspath, run.filenames)], setters)
    found = []
    for group in connected(graph, names, of_one_home(names, graph.data)):
        if not run.context or not asked.isdisjoint(group.all):
            states = ((path, placement.of(path)) for path in group.seeds)
            placed = tuple((path, state) for path, state in states if state is not None)
            seeds = tuple(names[path] for path in group.seeds)
            found.append(Job(seeds, placed, len(group.all)))
    return found


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
            found.add(one_program(run, job._replace(seeds=part)))
        return found
    found = judged(run, understanding)
    found.inputs = inputs_of(run, job, understanding)
    return found


def inputs_of(run: Run, job: Job, understanding: Understanding) -> Inputs:
    """All that the reading of a program asked for, when the rules have run."""
    from tpulint.analysis.resolver.files import Files

    files = understanding.files or Files({}, run.disk)
    files.read.update(map(os.path.abspath, job.seeds))
    for path in list(files.read):
        files.look_around(path)
    read, folders = set(files.read), dict(files.folders)
    if understanding.program is not None:
        targets = understanding.program.targets
        read.update(targets.consulted)
        folders.update(targets.folders)
    return Inputs(frozenset(read), {path: counting(names) for path, names in folders.items()})


def judged(run: Run, understanding: Understanding) -> Analysis:
    """Run the rules on a program that has been read."""
    found = Analysis()
    found.findings += understanding.findings
    found.messages += understanding.messages
    program = understanding.program
    if program is not None:
        found.failed = bool(program.failures)
        judge(program, run, found)
        found.skipped.update(program.skipped)
        asked = set(run.filenames)
        found.imported += [each.path for each in program.modules if each.filename not in asked]
    return found


def understand_job(
    run: Run, job: Job, observer: Observer | None = None, store: Store | None = None
) -> Understanding:
    """Read the files of one program."""
    from tpulint.pipeline.analyze import understand

    return understand(
        job.seeds,
        given=run.given,
        settings=run.settings,
        cache=run.cache,
        isolated=job.isolated,
        files=run.filenames,
        placed=dict(job.placed),
        observer=observer,
        store=store,
        disk=run.disk,
    )


def judge(program: Program, run: Run, found: Analysis) -> None:
    """Add what the rules find; one that fails costs its own findings only."""
    from tpulint import rules

    found.read = True
    for code in rules.written():
        if run.checkpoint is not None:
            run.checkpoint()
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
