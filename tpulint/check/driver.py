"""The order of a check: discover, search, find programs, analyze each, resolve, render.

Each step is one function with a file of its own, called from here only. The queries say which
results of an earlier check are still good, and the workers where the other steps run. Whatever
could not be done is a `Failure` in the result.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.discover import Task, find_files
from tpulint.check.executor import LocalWorkers, Search
from tpulint.check.programs import Prefiltered, prefilter, split_into_programs
from tpulint.check.progress import Progress
from tpulint.check.request import STDIN, Request, settings_of
from tpulint.check.resolve import CheckResult, rendered, resolve
from tpulint.check.selection import affected_part, in_shard
from tpulint.codes import CODES, OF_NAMES
from tpulint.collector import gc_disabled
from tpulint.disk import Disk, take_passed_over
from tpulint.finding import Finding
from tpulint.frontends import installed, targets_of
from tpulint.incremental.disk import CheckedDisk, TrackedDisk
from tpulint.incremental.memo import Database, Memo, SharedCache
from tpulint.incremental.model import (
    Analysis,
    Batch,
    FileFailure,
    Job,
    ProgramCoverage,
    Programs,
    describe,
    merged,
    sorted_files,
)
from tpulint.incremental.queries import Queries, hashed

if TYPE_CHECKING:
    from tpulint.absint.interpreter.frame import Observer
    from tpulint.check.analysis import RuleResult
    from tpulint.check.editor import EditorState, ProjectPrograms
    from tpulint.frontends.tensorflow.program import Program
    from tpulint.incremental.model import Failure
    from tpulint.syntax.lazy_module import Store


__all__ = ["STDIN", "Request", "Task", "analyze", "check", "discover", "render", "resolve"]


class FoundPrograms(NamedTuple):
    """The programs of a batch, and the faults and failures of files that cannot be searched."""

    programs: Programs
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()


class BuiltProgram(NamedTuple):
    """A program, with TPU001 for what cannot be parsed; None where no file holds anything."""

    program: Program | None
    findings: tuple[Finding, ...] = ()
    files: Files | None = None  # that were looked for and read


def discover(request: Request, progress: Progress | None = None) -> Task:
    """Find the files of the request: those to report on, and the project around them."""
    task = find_files(request, progress or Progress())
    task = task.passing_over(take_passed_over())
    if request.staged or request.changed_since is not None:
        task = affected_part(task)
    if request.shard is not None:
        task = in_shard(request.shard, task)
    return task


def check(
    task: Task, unsaved: Mapping[str, bytes] | None = None, state: EditorState | None = None
) -> CheckResult:
    """Return the findings in the files of the task.

    `unsaved` holds bytes to use instead of the disk's; `state` is what the last check of the same
    files has left in this process.
    """
    request = task.request
    unsaved = {**task.contents, **(unsaved or {})}
    if request.stdin is not None:
        unsaved = {request.stdin_filename: request.stdin, **unsaved}
    memo = memo_of(request) if state is None else state.memo
    result = resolve(analyze(task, unsaved, state, memo), task, unsaved, memo)
    memo.close()
    return result


def memo_of(request: Request) -> Memo:
    """Return the results of earlier checks: those in the cache of the request, where it has one.

    What is recalled takes no time, so a check whose times are asked for recalls nothing.
    """
    return Memo() if request.cache is None or request.timed else Database(request.cache)


def analyze(
    task: Task,
    unsaved: Mapping[str, bytes] | None = None,
    state: EditorState | None = None,
    memo: Memo | None = None,
) -> Analysis:
    """Return the findings in the files, of all rules that are selected for any of them.

    A program has no borders between configurations: under each of their settings it is analyzed
    as a whole, and each file's findings are those under its own.
    """
    request = task.request
    if state is not None:
        memo, disk = state.memo, state.disk
    else:
        if memo is None:
            memo = memo_of(request)
        disk = CheckedDisk(unsaved, memo.states())
    several = batches(task, disk)
    parts = []
    for batch in several:
        analysis = analyze_batch(batch, task, memo, disk, state)
        if len(several) > 1:
            analysis = analysis._replace(
                findings=tuple(
                    finding
                    for finding in analysis.findings
                    if settings_of(request.config_of(finding.span.filename)) == batch.settings
                )
            )
        parts.append(analysis)
    return merged(parts)


def batches(task: Task, disk: Disk) -> list[Batch]:
    """Return the files of the task as one batch for each of their settings."""
    if not task.filenames:
        return []
    request = task.request
    files = sorted_files(task.filenames, task.context)
    codes = request.every_code(files)
    context = frozenset(task.context)
    every_setting = request.every_setting(task.filenames)
    return [Batch(files, context, disk, codes, settings) for settings in every_setting]


def analyze_batch(
    batch: Batch, task: Task, memo: Memo, disk: CheckedDisk, state: EditorState | None
) -> Analysis:
    """Return the findings in a batch, those recalled whose inputs have not changed."""
    if state is not None:
        project = state.project(batch)
        with gc_disabled():
            return run_steps(project.batch, project.queries, project, project)
    request = task.request
    url = request.config.shared_cache if isinstance(memo, Database) else None
    queries = Queries(batch, disk, memo, None if url is None else SharedCache(url))
    processes = request.config.jobs or os.cpu_count() or 1
    workers = LocalWorkers(batch, processes, task.progress)
    if request.scheduler is not None and not batch.disk.unsaved:
        from tpulint.check.cluster import ClusterWorkers

        workers = ClusterWorkers(request.scheduler, batch, processes, task.progress)
    with workers:
        return run_steps(batch, queries, workers, queries)


def run_steps(
    batch: Batch,
    queries: Queries,
    workers: LocalWorkers | ProjectPrograms,
    memo: Queries | ProjectPrograms,
) -> Analysis:
    """Find the programs of a batch, and analyze each that has changed.

    `memo` remembers the analyses of programs: the queries, or an editor's project.
    """
    search = find_programs(batch, queries, workers)
    jobs = search.programs.jobs
    # Programs first: their processes work while this one looks at the names.
    analyses = memo.recall(jobs)
    results = workers.analyze(analyze_program, [job for job in jobs if job not in analyses])
    names = analyze_names(batch, search.programs, queries)
    queries.write()  # other processes are at work now
    for job, analysis in results:
        memo.remember(job, analysis)
        analyses[job] = analysis
        queries.write_now_and_then()
    queries.write()
    number = len(batch.filenames) - len(batch.context)
    is_unchanged = not queries.searched and not queries.analyzed
    return merged(
        [
            Analysis(
                search.findings,
                search.failures,
                tuple(queries.messages),
                (f"{number} files: nothing changed since the last run",) if is_unchanged else (),
                search.programs.marked,
                passed_over=(*search.programs.passed_over, *take_passed_over()),
                using=search.programs.using,
            ),
            names,
            *(analyses[job] for job in jobs),
        ]
    )


def find_programs(
    batch: Batch, queries: Queries, workers: LocalWorkers | ProjectPrograms
) -> FoundPrograms:
    """Search the bytes of the files that have changed, and find the programs among all files."""
    changed = queries.changed_files()
    search = workers.search(prefilter, changed) if changed else Search()
    queries.remember_facts(search.prefiltered.searched)
    programs = queries.programs()
    prefiltered = search.prefiltered
    if programs is None:
        facts = queries.facts()
        names = TrackedDisk(batch.disk)
        names.dependencies.update(search.asked_for_names)
        if len(changed) < len(batch.filenames):
            targets = targets_of(batch.settings, names)
            prefiltered = prefilter(batch, batch.filenames, targets, None, facts)
            queries.remember_facts(prefiltered.searched)
        jobs = divide(batch, prefiltered, queries, search, names)
        importing = (row for name, row in prefiltered.importing if name not in batch.context)
        using = Counter(initial for initials in importing for initial in initials)
        marked, spelled = prefiltered.marked, prefiltered.spelled
        programs = Programs(tuple(jobs), marked, spelled, take_passed_over(), using)
        queries.remember_programs(programs, names.dependencies)
    return FoundPrograms(programs, prefiltered.findings, prefiltered.failures)


def divide(
    batch: Batch, prefiltered: Prefiltered, queries: Queries, search: Search, disk: TrackedDisk
) -> list[Job]:
    """Find the programs by the imports of the files; `disk` learns what they depend on."""
    if not prefiltered.seeds:
        return []
    imports = TrackedDisk(batch.disk)
    imports.dependencies.update(search.asked_for_imports)
    imported = {**queries.imports(imports.dependencies), **search.imports}
    files = Files(imports, installed=installed())
    graph = ImportGraph(files, imported)
    jobs = split_into_programs(batch, prefiltered, graph, disk)
    # A new `__init__` above a file changes the package that it is of, and what its imports mean.
    for seed in prefiltered.seeds:
        files.probe_package_roots(os.path.abspath(seed))
    queries.remember_imports(graph.known, imports.dependencies)
    disk.dependencies.update(imports.dependencies)
    return jobs


def programs_around(task: Task, filename: str) -> tuple[Batch, FoundPrograms]:
    """Return the programs of the task as they are under the settings of one file."""
    request = task.request
    memo = memo_of(request)
    disk = CheckedDisk({}, memo.states())
    files = sorted_files(task.filenames, task.context)
    settings = settings_of(request.config_of(filename))
    batch = Batch(files, frozenset(task.context), disk, request.codes, settings)
    queries = Queries(batch, disk, memo)
    with LocalWorkers(batch, 1, task.progress) as workers:
        search = find_programs(batch, queries, workers)
    queries.write()
    memo.close()
    return batch, search


def analyze_names(batch: Batch, programs: Programs, queries: Queries | None = None) -> Analysis:
    """Return the findings in names alone, whatever programs their files are of."""
    if not programs.spelled:
        return Analysis()
    job = Job(("", hashed(programs.spelled)), (), 0)
    recalled = {} if queries is None else queries.recall([job])
    if job in recalled:
        return recalled[job]
    from tpulint.frontends.tensorflow.program import Program

    disk = TrackedDisk(batch.disk)
    targets = targets_of(batch.settings, disk)
    program = Program(spelled=list(programs.spelled), targets=targets)
    analysis = analysis_of(rule_results(program, batch, OF_NAMES))
    analysis = analysis._replace(dependencies=disk.dependencies)
    if queries is not None:
        queries.remember(job, analysis)
    return analysis


def analyze_program(batch: Batch, job: Job) -> Analysis:
    """Build a program and run the rules on it; a file that breaks it is left out."""
    return build_and_check(batch, job)[0]


@gc_disabled()
def build_and_check(
    batch: Batch, job: Job, observer: Observer | None = None, store: Store | None = None
) -> tuple[Analysis, Program | None]:
    """Build a program and run the rules on it; return what was found, and the program.

    It is None where it could not be read as a whole. `observer` is shown what the interpreter
    reads; `store` has the summaries of modules, where they are kept from one check to the next.
    """
    disk = TrackedDisk(batch.disk)
    try:
        program, findings, files = read_program(batch._replace(disk=disk), job, observer, store)
    except Exception as error:
        if store is not None:  # without the summaries of earlier checks it may be sound
            return analyze_program(batch, job), None
        return bisect_failure(batch, job, error), None
    if program is None:
        return Analysis(findings, dependencies=disk.dependencies), None
    analysis = analysis_of(rule_results(program, batch))
    if files is not None:  # as for the programs: see `divide`
        for path in list(disk.dependencies.files):
            files.probe_package_roots(path)
    programs: tuple[ProgramCoverage, ...] = ()
    if program.is_for_tpu:
        read = tuple(sorted(module.filename for module in program.modules))
        programs = (ProgramCoverage(job.seeds[0], read, len(program.unreached)),)
    analysis = analysis._replace(
        findings=(*findings, *analysis.findings),
        failures=(*program.failures, *analysis.failures),
        skipped=dict(program.skipped),
        unfollowed=frozenset(program.unfollowed),
        dependencies=disk.dependencies,
        programs=programs,
    )
    return analysis, program


def bisect_failure(batch: Batch, job: Job, error: Exception) -> Analysis:
    """Analyze both halves of a program that cannot be read as a whole."""
    if len(job.seeds) == 1:
        reason = f"internal error: {describe(error)}"
        return Analysis(failures=(FileFailure(job.seeds[0], reason),))
    half = len(job.seeds) // 2
    halves = (job.seeds[:half], job.seeds[half:])
    return merged([analyze_program(batch, job._replace(seeds=seeds)) for seeds in halves])


def read_program(
    batch: Batch, job: Job, observer: Observer | None = None, store: Store | None = None
) -> BuiltProgram:
    """Summarize the files of a program, and build it from there."""
    from tpulint.check.analysis import read_sources, summarize

    sources, findings = read_sources(batch, job)
    if not sources:
        return BuiltProgram(None, tuple(findings))
    from tpulint.frontends.tensorflow.build_program import build_program
    from tpulint.syntax.lazy_module import Store as NewStore

    files = Files(batch.disk, installed=installed())
    summaries = store or NewStore()

    modules = summarize(sources, summaries)
    program = build_program(
        modules, batch.filenames, files, batch.settings, summaries, observer, job.callers
    )
    program.targets = targets_of(batch.settings, batch.disk)
    program.soft_placement = dict(job.placed)
    return BuiltProgram(program, (*findings, *summaries.findings), files)


def rule_results(
    program: Program, batch: Batch, among: Collection[str] = CODES
) -> Iterator[RuleResult]:
    """Run the rules on a program, one when the result of the one before was taken."""
    from tpulint.check.analysis import run_rules

    return run_rules(program, batch.codes.intersection(among), batch.checkpoint)


def analysis_of(results: Iterable[RuleResult]) -> Analysis:
    rows = list(results)
    return Analysis(
        tuple(finding for row in rows for finding in row.findings),
        tuple(row.failure for row in rows if row.failure is not None),
        times={row.code: row.seconds for row in rows},
    )


def render(result: CheckResult, output_format: str, statistics: bool) -> tuple[str, list[str]]:
    return rendered(result, output_format, statistics)
