"""The story of a run: discover, understand, judge, mend, say."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from tpulint.config import Config
from tpulint.discover import discover
from tpulint.finding import Certainty, Finding

if TYPE_CHECKING:
    from tpulint.source import Source

STDIN = "-"
STEPS_A_LANE = 12


@dataclass(frozen=True)
class Request:
    """What a run is asked for, the command line and the configuration taken together.

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


@dataclass
class Run:
    """What was found: the standing findings, how many possible ones are hidden, and the rest.

    `messages` are for standard error; `failed` says that something did not work (exit 2).
    """

    findings: list[Finding] = field(default_factory=list)
    hidden: int = 0
    sources: dict[str, Source] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    failed: bool = False


class Task(NamedTuple):
    """The files of a run, once discovered; `named` are those that the caller named one by one."""

    request: Request
    filenames: tuple[str, ...]
    named: frozenset[str]


def prepare(request: Request) -> tuple[Task, Run]:
    """Discovers the files; the run begins with what there is to say about them."""
    config = request.config
    if request.stdin is not None:
        wanted = not request.force_exclude or takes_stdin(request)
        filenames = (request.stdin_filename,) if wanted else ()
        return Task(request, filenames, frozenset(filenames)), Run()
    found = discover(
        request.paths,
        exclude=config.exclude,
        root=config.root,
        force_exclude=request.force_exclude,
    )
    run = Run(messages=list(found.messages), failed=bool(found.missing))
    return Task(request, found.filenames, found.named), run


def takes_stdin(request: Request) -> bool:
    """Whether the name that standard input goes by is one that is not excluded."""
    from tpulint.discover import DEFAULT_EXCLUDE
    from tpulint.patterns import Patterns

    config = request.config
    patterns = Patterns(DEFAULT_EXCLUDE if config.exclude is None else config.exclude, config.root)
    return not patterns.fit_within(os.path.abspath(request.stdin_filename))


def check(task: Task, run: Run, given: Mapping[str, bytes]) -> Run:
    """The findings of the task, with the bytes of some files given instead of read."""
    request = task.request
    now = Run(messages=list(run.messages), failed=run.failed)
    if request.stdin is not None:
        given = {request.stdin_filename: request.stdin, **given}
    found = analyse(task.filenames, given, request, now)
    wanted = frozenset(task.filenames)
    found = [each for each in found if each.span.filename in wanted]
    judge(found, task, given, now)
    return now


def analyse(
    filenames: Sequence[str], given: Mapping[str, bytes], request: Request, run: Run
) -> list[Finding]:
    """What the rules find. A file that breaks the analysis is named and left out, alone."""
    if not filenames:
        return []
    from pathlib import Path

    from tpulint.program.understand import Settings, understand

    config = request.config
    settings = Settings(config.wrappers, config.assume_tpu, config.target_tensorflow)
    try:
        understanding = understand(
            filenames,
            given=given,
            settings=settings,
            cache=Path(request.cache) if request.cache else None,
            jobs=config.jobs or os.cpu_count() or 1,
        )
    except Exception as error:  # an error of our own must not take the other files along
        if len(filenames) == 1:
            fail(run, f"{filenames[0]}: internal error: {describe(error)}")
            return []
        half = len(filenames) // 2
        parts = (filenames[:half], filenames[half:])
        return [each for part in parts for each in analyse(part, given, request, run)]
    run.messages += [each for each in understanding.messages if each not in run.messages]
    findings = list(understanding.findings)
    if not understanding.program.modules:
        return findings
    from tpulint import rules

    for code in rules.written():
        if code in request.codes:
            try:
                findings += rules.run(understanding.program, {code})
            except Exception as error:  # one rule's error must not take the others along
                fail(run, f"internal error in rule {code}: {describe(error)}")
    return findings


def describe(error: BaseException) -> str:
    """The error in one line, with the place in the code that a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"


def fail(run: Run, message: str) -> None:
    run.failed = True
    if message not in run.messages:
        run.messages.append(message)


def judge(found: Sequence[Finding], task: Task, given: Mapping[str, bytes], run: Run) -> None:
    """Which findings stand: suppressions, per-file-ignores, certainty and the baseline."""
    request = task.request
    suppressors = files_with_suppressions(found, task, given)
    if not found and not suppressors:
        check_baseline([], task, run)
        return
    from tpulint.source import read_all
    from tpulint.verdict.stand import stand

    places = {step.span.filename for each in found for step in each.trace}
    named = {each.span.filename for each in found} | set(suppressors)
    run.sources.update(read_all(sorted(places | named), given))
    standing = stand(found, run.sources, suppressors, task.named, request, reported())
    shown = [each for each in standing if shows(each, request.config.certainty)]
    run.hidden = len(standing) - len(shown)
    run.findings = [trimmed(each) for each in check_baseline(shown, task, run)]


def reported() -> frozenset[str]:
    """The codes that something reports."""
    from tpulint.rules import written

    return frozenset(("TPU001", "TPU002", *written()))


def files_with_suppressions(
    found: Sequence[Finding], task: Task, given: Mapping[str, bytes]
) -> list[str]:
    """The files whose suppressions must be read: those with findings, and for TPU002 the rest."""
    from tpulint.verdict.marks import may_name_own_codes

    files = {each.span.filename for each in found}
    if "TPU002" in task.request.codes:
        for filename in task.filenames:
            data = given.get(filename)
            if data is None:
                try:
                    with open(filename, "rb", buffering=0) as file:
                        data = file.read()
                except OSError:
                    continue
            if may_name_own_codes(data):
                files.add(filename)
    return sorted(files)


def shows(finding: Finding, certainty: Certainty) -> bool:
    return certainty is Certainty.POSSIBLE or finding.certainty is Certainty.DEFINITE


def check_baseline(findings: Sequence[Finding], task: Task, run: Run) -> Sequence[Finding]:
    """The findings that the baseline does not know; its stale entries go to standard error."""
    path = task.request.baseline
    if path is None:
        return findings
    from tpulint.verdict import baseline

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
    return replace(finding, trace=tuple(finding.trace[index] for index in sorted(kept)))


def say(messages: Collection[str]) -> None:
    for message in messages:
        print(f"tpulint: {message}", file=sys.stderr)
