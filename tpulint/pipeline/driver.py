"""The story of a run: discover, understand, judge, fix, say."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.config import Config
from tpulint.finding import Certainty, Finding
from tpulint.pipeline.discover import discover

if TYPE_CHECKING:
    from tpulint.pipeline.projects import Analysis
    from tpulint.source import Source

STDIN = "-"
STEPS_A_LANE = 12


class Request(NamedTuple):
    """The request of a run, the command line and the configuration taken together.

    `noqa` is false where somebody else (flake8) judges those comments.
    """

    config: Config
    codes: frozenset[str]
    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_filename: str = STDIN
    force_exclude: bool = False
    baseline: str | None = None
    cache: str | None = None
    noqa: bool = True


class Run:
    """The result of a run: its findings, the number of hidden possible ones, and the rest.

    `messages` are for standard error; `failed` says that something did not work (exit 2).
    """

    def __init__(self, messages: Iterable[str] = (), failed: bool = False) -> None:
        self.findings: list[Finding] = []
        self.hidden = 0
        self.sources: dict[str, Source] = {}
        self.messages = list(messages)
        self.failed = failed


class Task(NamedTuple):
    """The files of a run, once discovered.

    `partial` are those of which no more is known than what they import: who calls them is
    not. `context` are files that are understood with the others but not reported on.
    """

    request: Request
    filenames: tuple[str, ...]
    partial: frozenset[str]
    context: tuple[str, ...] = ()


def prepare(request: Request) -> tuple[Task, Run]:
    """Discovers the files; the run begins with what there is to say about them."""
    config = request.config
    if request.stdin is not None:
        wanted = not request.force_exclude or takes_stdin(request)
        filenames = (request.stdin_filename,) if wanted else ()
        return in_context(request, filenames, frozenset(filenames)), Run()
    found = discover(
        request.paths,
        exclude=config.exclude,
        root=config.root,
        force_exclude=request.force_exclude,
    )
    run = Run(found.messages, bool(found.missing))
    return in_context(request, found.filenames, found.named), run


def in_context(request: Request, filenames: tuple[str, ...], named: frozenset[str]) -> Task:
    """The task; files named one by one come with their project, as their callers are there."""
    files = [os.path.abspath(each) for each in named if each != STDIN]
    project = project_of(os.path.commonpath(files)) if files else None
    if project is None:
        return Task(request, filenames, named)
    config = request.config
    whole = discover([project], exclude=config.exclude, root=config.root, force_exclude=False)
    asked = frozenset(filenames)
    context = tuple(each for each in whole.filenames if each not in asked)
    return Task(request, filenames, frozenset(), context)


def project_of(path: str) -> str | None:
    """The nearest directory at or above `path` that bears a project's mark."""
    from tpulint.pipeline.projects import MARKS

    while not any(os.path.exists(os.path.join(path, mark)) for mark in MARKS):
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return path


def takes_stdin(request: Request) -> bool:
    """Return whether the name that standard input goes by is one that is not excluded."""
    from tpulint.config import DEFAULT_EXCLUDE
    from tpulint.patterns import Patterns

    config = request.config
    patterns = Patterns(DEFAULT_EXCLUDE if config.exclude is None else config.exclude, config.root)
    return not patterns.fit_within(os.path.abspath(request.stdin_filename))


def check(task: Task, run: Run, given: Mapping[str, bytes]) -> Run:
    """The findings of the task, with the bytes of some files given instead of read."""
    request = task.request
    now = Run(run.messages, run.failed)
    if request.stdin is not None:
        given = {request.stdin_filename: request.stdin, **given}
    if not task.filenames:
        return now
    analysis = analyse(sorted(task.filenames + task.context), given, request, now)
    wanted = frozenset(task.filenames)
    found = [each for each in analysis.findings if each.span.filename in wanted]
    judge(found, wanted.intersection(analysis.marked), task, given, now)
    return now


def analyse(
    filenames: Sequence[str], given: Mapping[str, bytes], request: Request, run: Run
) -> Analysis:
    """Return the findings of the rules, recalled where no file has changed since the last run."""
    from tpulint.analysis.options import Settings
    from tpulint.pipeline.projects import Analysis, analyse

    if not filenames:
        return Analysis()
    config = request.config
    settings = Settings(config.wrappers, config.assume_tpu, config.target_tensorflow)
    cache = None if given else request.cache
    if cache is not None:
        from tpulint.pipeline import run_cache

        known = run_cache.recall(cache, filenames, request.codes, settings)
        if known is not None:
            run.messages += known.messages
            return known
    processes = config.jobs or os.cpu_count() or 1
    found = analyse(
        filenames, given, request.codes, settings, cache=request.cache, processes=processes
    )
    run.messages += [each for each in found.messages if each not in run.messages]
    run.failed = run.failed or found.failed
    if cache is not None:
        run_cache.remember(cache, filenames, request.codes, settings, found)
    return found


def fail(run: Run, message: str) -> None:
    run.failed = True
    if message not in run.messages:
        run.messages.append(message)


def judge(
    found: Sequence[Finding],
    marked: Collection[str],
    task: Task,
    given: Mapping[str, bytes],
    run: Run,
) -> None:
    """Resolve findings: suppressions, per-file-ignores, certainty and the baseline."""
    request = task.request
    files = {each.span.filename for each in found}
    suppressors = sorted(files | set(marked) if "TPU002" in request.codes else files)
    if not found and not suppressors:
        check_baseline([], task, run)
        return
    from tpulint.diagnostics.resolve import stand
    from tpulint.source import read_all

    places = {step.span.filename for each in found for step in each.trace}
    named = {each.span.filename for each in found} | set(suppressors)
    run.sources.update(read_all(sorted(places | named), given))
    standing = stand(found, run.sources, suppressors, task.partial, request, reported())
    shown = [each for each in standing if shows(each, request.config.certainty)]
    run.hidden = len(standing) - len(shown)
    run.findings = [trimmed(each) for each in check_baseline(shown, task, run)]


def reported() -> frozenset[str]:
    """The codes that something reports."""
    from tpulint.rules import written

    return frozenset(("TPU001", "TPU002", *written()))


def shows(finding: Finding, certainty: Certainty) -> bool:
    return certainty is Certainty.POSSIBLE or finding.certainty is Certainty.DEFINITE


def check_baseline(findings: Sequence[Finding], task: Task, run: Run) -> Sequence[Finding]:
    """The findings that the baseline does not know; its stale entries go to standard error."""
    path = task.request.baseline
    if path is None:
        return findings
    from tpulint.diagnostics import baseline

    judged = baseline.judge(findings, run.sources, path, task.filenames, task.request.codes)
    run.messages += [f"{path}: stale: {entry}" for entry in judged.stale]
    return judged.standing


def trimmed(finding: Finding) -> Finding:
    """The finding with at most STEPS_A_LANE steps a lane: how it begins, and how it ends."""
    lanes: dict[str, list[int]] = {}
    for index, step in enumerate(finding.trace):
        lanes.setdefault(step.lane, []).append(index)
    if all(len(indices) <= STEPS_A_LANE for indices in lanes.values()):
        return finding
    head = STEPS_A_LANE // 2
    kept: set[int] = set()
    for indices in lanes.values():
        whole = len(indices) <= STEPS_A_LANE
        kept.update(indices if whole else indices[:head] + indices[head - STEPS_A_LANE :])
    return finding._replace(trace=tuple(finding.trace[index] for index in sorted(kept)))


def say(messages: Collection[str]) -> None:
    for message in messages:
        print(f"tpulint: {message}", file=sys.stderr)
