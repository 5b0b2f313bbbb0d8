"""The order of a run: discover the files, analyze them, judge what was found."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.pipeline.discover import discover
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.project_root import project_of
from tpulint.pipeline.request import STDIN, Request, settings_of
from tpulint.pipeline.run import Run, fail
from tpulint.pipeline.verdict import judge, trimmed

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings
    from tpulint.finding import Finding
    from tpulint.pipeline.analysis import Analysis

__all__ = ["STDIN", "Request", "Run", "Task", "check", "fail", "prepare", "say", "trimmed"]


class Task(NamedTuple):
    """The files of a run, once discovered.

    `partial` are those of which no more is known than what they import: who calls them is
    not. `context` are files that are understood with the others but not reported on.
    """

    request: Request
    filenames: tuple[str, ...]
    partial: frozenset[str]
    context: tuple[str, ...] = ()


def prepare(request: Request, progress: Progress | None = None) -> tuple[Task, Run]:
    """Discover the files; the run begins with what there is to say about them."""
    run = Run(progress=progress)
    if request.config.target_tensorflow is None:
        run.unset = frozenset(("target-tensorflow",))
    closest = request.closest_or_one()
    if request.stdin is not None:
        wanted = not request.force_exclude or not closest.excludes(stdin_path(request))
        filenames = (request.stdin_filename,) if wanted else ()
        task = in_context(request, filenames, filenames, frozenset(filenames))
    else:
        run.progress.step("looking for files")
        found = discover(request.paths, closest=closest, force_exclude=request.force_exclude)
        run.say(found.messages)
        run.failed = bool(found.unread)
        task = in_context(request, request.paths, found.filenames, found.named)
    if not task.filenames and not run.failed:
        run.say(["warning: no Python files found under the given path(s)"])
    if request.changed_since is not None:
        task = since(request.changed_since, task, run)
    if request.shard is not None:
        task = shard_of(request.shard, task, run)
    run.files = len(task.filenames)
    return task, run


def since(revision: str, task: Task, run: Run) -> Task:
    """The task without the files that no change since `revision` can affect: they are context."""
    from tpulint.pipeline.changed import affected

    whole = sorted(task.filenames + task.context)
    changed = affected(revision, whole)
    asked = tuple(each for each in task.filenames if each in changed)
    run.notes.append(f"{len(asked)} of {len(task.filenames)} files can be affected")
    context = tuple(each for each in whole if each not in frozenset(asked))
    return task._replace(filenames=asked, context=context)


def shard_of(which: tuple[int, int], task: Task, run: Run) -> Task:
    """The task with the files of one shard; the others are context."""
    from tpulint.pipeline.shard import shard

    number, count = which
    whole = sorted(task.filenames + task.context)
    mine = shard(number, count, whole, task.request.every_setting(whole))
    asked = tuple(each for each in task.filenames if each in mine)
    run.notes.append(f"shard {number} of {count}: {len(asked)} of {len(task.filenames)} files")
    return task._replace(filenames=asked, context=tuple(each for each in whole if each not in mine))


def stdin_path(request: Request) -> str:
    return os.path.abspath(request.stdin_filename)


def in_context(
    request: Request, paths: Sequence[str], filenames: tuple[str, ...], named: frozenset[str]
) -> Task:
    """The task; files come with the project around `paths`, which holds their callers."""
    around = [os.path.abspath(each) for each in paths if each != STDIN]
    project = project_of(os.path.commonpath(around)) if around and filenames else None
    if project is None:
        return Task(request, filenames, named)
    if project in around:
        return Task(request, filenames, frozenset())
    whole = discover([project], closest=request.closest_or_one(), force_exclude=False)
    asked = frozenset(filenames)
    context = tuple(each for each in whole.filenames if each not in asked)
    return Task(request, filenames, frozenset(), context)


def check(task: Task, run: Run, given: Mapping[str, bytes]) -> Run:
    """The findings of the task, with the bytes of some files given instead of read."""
    request = task.request
    now = run.again()
    if request.stdin is not None:
        given = {request.stdin_filename: request.stdin, **given}
    if not task.filenames:
        return now
    analysis = analyse(task.filenames, given, request, now, task.context)
    now.skipped = analysis.skipped
    wanted = frozenset(task.filenames)
    found = [each for each in analysis.findings if is_asked_for(each, wanted)]
    marked = wanted.intersection(analysis.marked)
    judge(found, task.filenames, marked, task.partial, request, given, now)
    return now


def is_asked_for(finding: Finding, wanted: Collection[str]) -> bool:
    """Return whether the finding belongs to one of the files `wanted`.

    One in a requirement file belongs to the files that its trace leads to as well.
    """
    from tpulint.analysis.names.target_release import FILES

    if finding.span.filename in wanted:
        return True
    is_requirement = FILES.fullmatch(os.path.basename(finding.span.filename)) is not None
    return is_requirement and any(step.span.filename in wanted for step in finding.trace)


def analyse(
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    request: Request,
    run: Run,
    context: Sequence[str] = (),
) -> Analysis:
    """The findings of the rules, under each file's own settings.

    A program has no borders between configurations: under each of their settings it is analyzed
    as a whole, and each file's findings are those under its own. Of the files of `context`, which
    are of the same programs, nothing is asked.
    """
    from tpulint.pipeline.analysis import Analysis

    if not filenames:
        return Analysis()
    several = request.every_setting(filenames)
    if len(several) == 1:
        return with_settings(several[0], filenames, context, given, request, run)
    whole = Analysis()
    for settings in several:
        found = with_settings(settings, filenames, context, given, request, run)
        found.findings = [
            each
            for each in found.findings
            if settings_of(request.config_of(each.span.filename)) == settings
        ]
        whole.add(found)
    return whole


def with_settings(
    settings: Settings,
    filenames: Sequence[str],
    context: Sequence[str],
    given: Mapping[str, bytes],
    request: Request,
    run: Run,
) -> Analysis:
    """Return the findings of the rules, recalled where no file has changed since the last run."""
    from tpulint.pipeline.projects import analyse

    codes = request.every_code([*filenames, *context])
    if run.warm is not None:
        found = run.warm.analyse(filenames, context, given, codes, settings, request.cache)
        run.say(found.messages)
        run.failed = run.failed or found.failed
        return found
    cache = None if given else request.cache
    key = None
    if cache is not None and not request.timed:
        from tpulint.pipeline import run_cache

        key = run_cache.key_of(filenames, context, codes, settings)
        known = run_cache.recall(cache, key)
        if known is not None:
            run.say(known.messages)
            run.notes.append(f"{len(filenames)} files: nothing changed since the last run")
            return known
    found = analyse(
        filenames,
        given,
        codes,
        settings,
        context=context,
        cache=None if request.timed else request.cache,
        processes=request.config.jobs or os.cpu_count() or 1,
        progress=run.progress,
        scheduler=request.scheduler,
    )
    run.say(found.messages)
    run.failed = run.failed or found.failed
    for code, seconds in found.times.items():
        run.times[code] = run.times.get(code, 0.0) + seconds
    if cache is not None:
        from tpulint.pipeline import run_cache

        key = key or run_cache.key_of(filenames, context, codes, settings)
        run_cache.remember(cache, key, found)
    return found


def say(messages: Collection[str]) -> None:
    """Write messages to standard error."""
    for message in messages:
        print(f"tpulint: {message}", file=sys.stderr)
