"""The order of a check: discover, prefilter, summarize, build programs, run rules, resolve, render.

Each step is one function with a file of its own, called from here only. An executor decides where
the steps run, and which results of an earlier check are still good. Whatever could not be done is
a `Failure` in the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tpulint.analysis.names.target_release import Targets
from tpulint.codes import CODES, OF_NAMES
from tpulint.disk import take_passed_over
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job, in_order
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.collector import uncollected
from tpulint.pipeline.edits_beside import recall_beside
from tpulint.pipeline.executor import Executor, ProcessExecutor, processes_of
from tpulint.pipeline.failure import ProgramFailure, describe
from tpulint.pipeline.file_signs import FileSigns
from tpulint.pipeline.kept_signs import KeptSigns
from tpulint.pipeline.prefilter import NOTHING, Prefiltered, prefilter
from tpulint.pipeline.program_analysis import (
    BuiltProgram,
    ProgramAnalysis,
    add_results,
    analysis_of,
)
from tpulint.pipeline.programs import program_of_names, split_into_programs
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.request import STDIN, Request, settings_of
from tpulint.pipeline.resolve import resolved
from tpulint.pipeline.run_cache import RunCache
from tpulint.pipeline.sources import read_sources
from tpulint.pipeline.stamps import Stamps
from tpulint.pipeline.task import Task, changed_since, find_files, in_shard

if TYPE_CHECKING:
    from tpulint.analysis.interpreter.observer import Observer
    from tpulint.analysis.resolver.import_graph import ImportGraph
    from tpulint.frontends.tensorflow.program import Program
    from tpulint.pipeline.render import Rendered, Style
    from tpulint.pipeline.rule_run import RuleResult
    from tpulint.pipeline.warm import Warm
    from tpulint.syntax.summaries import Store

__all__ = ["STDIN", "Request", "Task", "analyze", "check", "discover", "render", "resolve"]


def discover(request: Request, progress: Progress | None = None) -> Task:
    """Find the files of the request: those to report on, and the project around them."""
    task = find_files(request, progress or Progress())
    task = task.passing_over(take_passed_over())
    if request.changed_since is not None:
        task = changed_since(request.changed_since, task)
    if request.shard is not None:
        task = in_shard(request.shard, task)
    return task


def check(
    task: Task, given: Mapping[str, bytes] | None = None, warm: Warm | None = None
) -> CheckResult:
    """Return the findings in the files of the task.

    `given` holds bytes to use instead of the disk's; `warm` is what the last check of the same
    files has left.
    """
    request = task.request
    given = given or {}
    if request.stdin is not None:
        given = {request.stdin_filename: request.stdin, **given}
    return resolve(analyze(task, given, warm), task, given)


def analyze(
    task: Task, given: Mapping[str, bytes] | None = None, warm: Warm | None = None
) -> Analysis:
    """Return the findings in the files, of all rules that are selected for any of them.

    A program has no borders between configurations: under each of their settings it is analyzed
    as a whole, and each file's findings are those under its own.
    """
    whole = Analysis()
    several = batches(task, given or {})
    for batch in several:
        found = analyze_batch(batch, task, warm)
        if len(several) > 1:
            found.findings = [
                each
                for each in found.findings
                if settings_of(task.request.config_of(each.span.filename)) == batch.settings
            ]
        whole.add(found)
    return whole


def batches(task: Task, given: Mapping[str, bytes]) -> list[Batch]:
    """Return the files of the task as one batch for each of their settings."""
    if not task.filenames:
        return []
    request = task.request
    files = in_order(task.filenames, task.context)
    codes = request.every_code(files)
    return [
        Batch(
            files,
            frozenset(task.context),
            given,
            codes,
            settings,
            request.cache,
            shared=request.config.shared_cache,
        )
        for settings in request.every_setting(task.filenames)
    ]


def analyze_batch(batch: Batch, task: Task, warm: Warm | None) -> Analysis:
    """Return the findings in a batch, recalled where no file has changed since the last check."""
    if warm is not None:
        executor = warm.executor(batch)
        with uncollected():
            return run_steps(executor.batch, executor)
    timed = task.request.timed
    stamps = Stamps()
    cache, signs = RunCache(batch, stamps), KeptSigns(batch, stamps)
    known = None if timed else cache.recall() or recall_beside(cache, signs, batch.settings)
    if known is not None:
        return known
    if timed:  # what is recalled takes no time
        batch = batch._replace(cache=None)
    processes = processes_of(task.request.config.jobs)
    with ProcessExecutor(batch, processes, task.progress, stamps, signs) as process_executor:
        found = run_steps(batch, with_cluster(process_executor, batch, task))
    cache.remember(found)
    return found


def with_cluster(local: ProcessExecutor, batch: Batch, task: Task) -> Executor:
    """Return an executor that leaves programs to the cluster of the request, where it has one."""
    address = task.request.scheduler
    if address is None or batch.given:
        return local
    from tpulint.pipeline.cluster import ClusterExecutor

    return ClusterExecutor(address, batch, local, task.progress)


def run_steps(batch: Batch, executor: Executor) -> Analysis:
    """Find the programs of a batch, and analyze each."""
    prefiltered, jobs = find_programs(executor)
    whole = Analysis()
    programs = executor.programs(jobs, analyze_program)
    whole.add(executor.names(prefiltered, analyze_names))
    whole.pass_over(take_passed_over())
    for found in programs:
        whole.add(found)
    whole.pass_over(take_passed_over())
    return whole


def find_programs(executor: Executor) -> tuple[Prefiltered, list[Job]]:
    """Search the bytes of all files, and find the programs among them."""
    prefiltered = executor.prefilter(prefilter_files)
    return prefiltered, executor.divide(prefiltered, divide_files)


def programs_around(task: Task, filename: str) -> tuple[Batch, Prefiltered, list[Job]]:
    """Return the programs of the task as they are under the settings of one file."""
    settings = settings_of(task.request.config_of(filename))
    files = in_order(task.filenames, task.context)
    codes, cache = task.request.codes, task.request.cache
    batch = Batch(files, frozenset(task.context), {}, codes, settings, cache)
    with ProcessExecutor(batch, 1, task.progress) as executor:
        return batch, *find_programs(executor)


def prefilter_files(
    batch: Batch,
    filenames: Sequence[str],
    known: Mapping[str, FileSigns] = NOTHING,
    graph: ImportGraph | None = None,
) -> Prefiltered:
    """Search the bytes of some files of the batch, less those whose signs are known."""
    return prefilter(filenames, batch.given, batch.settings, batch.context, known, graph)


def divide_files(batch: Batch, prefiltered: Prefiltered, graph: ImportGraph) -> list[Job]:
    """Find the programs among the files of the batch."""
    return split_into_programs(batch, prefiltered, graph)


def analyze_names(batch: Batch, prefiltered: Prefiltered) -> Analysis:
    """Return the findings in names alone, and the files that cannot be read."""
    found = Analysis(prefiltered.findings, marked=prefiltered.marked)
    found.failures += prefiltered.failures
    found.imported += prefiltered.consulted
    program = program_of_names(batch, prefiltered)
    if program is not None:
        add_results(found, program, rule_results(program, batch, OF_NAMES))
    return found


@uncollected()
def analyze_program(
    batch: Batch, job: Job, observer: Observer | None = None, store: Store | None = None
) -> ProgramAnalysis:
    """Build a program and run the rules on it; a file that breaks it is left out."""
    try:
        built = read_program(batch, job, observer, store)
    except Exception as error:
        if store is not None:  # without the summaries of earlier checks it may be sound
            return ProgramAnalysis(analyze_program(batch, job).analysis)
        return ProgramAnalysis(without_broken_file(batch, job, error))
    results = rule_results(built.program, batch) if built.program is not None else ()
    return ProgramAnalysis(analysis_of(batch, job, built, results), built.program)


def without_broken_file(batch: Batch, job: Job, error: Exception) -> Analysis:
    """Analyze both halves of a program that cannot be read as a whole."""
    found = Analysis()
    if len(job.seeds) == 1:
        found.failures.append(ProgramFailure(job.seeds[0], describe(error)))
        return found
    half = len(job.seeds) // 2
    for part in (job.seeds[:half], job.seeds[half:]):
        found.add(analyze_program(batch, job._replace(seeds=part)).analysis)
    return found


def read_program(
    batch: Batch, job: Job, observer: Observer | None = None, store: Store | None = None
) -> BuiltProgram:
    """Summarize the files of a program, and build it from there.

    `observer` is shown what the interpreter reads; `store` has the summaries of modules, where
    they are kept from one check to the next.
    """
    sources, findings = read_sources(batch, job)
    if not sources:
        return BuiltProgram(None, tuple(findings))
    from tpulint.analysis.build_program import build_program
    from tpulint.analysis.resolver.files import Files
    from tpulint.pipeline.summarize import summarize
    from tpulint.syntax.deep_stack import deeply
    from tpulint.syntax.summaries import Store as NewStore

    files = Files(batch.given, batch.disk, installed=INSTALLED)
    summaries = store or NewStore()

    def read() -> Program:
        modules = summarize(sources, summaries)
        return build_program(modules, batch.filenames, files, batch.settings, summaries, observer)

    program = deeply(read)
    program.targets = Targets(batch.settings.target_tensorflow, batch.disk)
    program.soft_placement = dict(job.placed)
    found = (*findings, *summaries.findings)
    return BuiltProgram(program, found, files=files)


def rule_results(
    program: Program, batch: Batch, among: Collection[str] = CODES
) -> Iterator[RuleResult]:
    """Run the rules on a program, one when the result of the one before was taken."""
    from tpulint.pipeline.rule_run import run_rules

    return run_rules(program, batch.codes.intersection(among), batch.checkpoint)


def resolve(analysis: Analysis, task: Task, given: Mapping[str, bytes]) -> CheckResult:
    """Return the findings that remain after suppressions, per-file-ignores and baselines."""
    return resolved(analysis, task, given)


def render(result: CheckResult, style: Style) -> Rendered:
    """Return the findings as text."""
    from tpulint.pipeline.render import rendered

    return rendered(result, style)
