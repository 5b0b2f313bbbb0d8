"""Resolve findings by suppressions, per-file-ignores, certainty and the baselines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tpulint import plugins
from tpulint.check.discover import Task, lines_about
from tpulint.check.request import Request, one_per_directory
from tpulint.config.keys import DECIDES
from tpulint.diagnostics.resolve import free_trees, unsuppressed
from tpulint.disk import REQUIREMENT_FILES
from tpulint.finding import Certainty, Finding
from tpulint.incremental.memo import Memo
from tpulint.incremental.model import Analysis
from tpulint.incremental.queries import KnownComments, with_fixes
from tpulint.output import FOR_PEOPLE, load
from tpulint.output.context import Coverage, RenderContext, Unchecked
from tpulint.source import Source, read_all

if TYPE_CHECKING:
    from tpulint.incremental.model import Failure


# The result of a check: the findings that remain, and messages about the check itself.


class CheckResult(NamedTuple):
    """The findings that remain, and what is shown beside them.

    context: what a format may use. failures: what was asked for and not done (exit status 2).
    warnings, messages: further lines for standard error; a quiet check has no warnings. notes: such
    lines of a verbose check. times: seconds by rule. skipped: functions that were reached and not
    followed, by the reason.
    """

    context: RenderContext
    findings: Sequence[Finding] = ()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    times: Mapping[str, float] = MappingProxyType({})
    skipped: Mapping[str, int] = MappingProxyType({})

    def with_messages(self, messages: Iterable[str]) -> CheckResult:
        """Return the result with the messages that it does not have yet."""
        more = tuple(message for message in messages if message not in self.messages)
        return self._replace(messages=self.messages + more)

    def with_failures(self, failures: Iterable[Failure]) -> CheckResult:
        return self._replace(failures=(*self.failures, *failures))


# Suppressions, per-file-ignores, certainty and baselines.

STEPS_A_LANE = 12
BROKEN = "TPU001"


def resolve(
    analysis: Analysis, task: Task, unsaved: Mapping[str, bytes], memo: Memo
) -> CheckResult:
    """Return the findings in the files of the task that remain, and how many are hidden.

    Suppressions, per-file-ignores and baselines take the others.
    """
    request = task.request
    wanted = frozenset(task.filenames)
    findings = [finding for finding in analysis.findings if is_asked_for(finding, wanted)]
    marked = wanted.intersection(analysis.marked)
    files = {finding.span.filename for finding in findings}
    suppressors = files | {name for name in marked if "TPU002" in request.codes_of(name)}
    sources: dict[str, Source] = {}
    remaining: Sequence[Finding] = []
    if findings or suppressors:
        names = {step.span.filename for finding in findings for step in finding.trace}
        sources.update(read_all(sorted(names | suppressors), unsaved))
        facts = KnownComments(memo)
        remaining = unsuppressed(
            findings, sources, sorted(suppressors), task.partial, request, facts.read
        )
        facts.write()
    shown = [finding for finding in remaining if is_shown(finding, request)]
    new, messages = new_findings(shown, task.filenames, request, sources)
    reported = [truncate_trace(finding) for finding in new]
    unparsed = len(broken(findings) - broken(reported))
    if findings:
        if request.fixes:
            reported = with_fixes(reported, sources, memo, task.progress.step)
        free_trees()
    others = [finding for finding in remaining if not is_shown(finding, request)]
    likely = (finding for finding in others if finding.certainty is not Certainty.UNLIKELY)
    hidden = Counter(finding.code for finding in likely)
    result = result_without_findings(analysis, task).with_messages(messages)
    context = result.context._replace(sources=sources, hidden=hidden, unparsed=unparsed)
    return result._replace(findings=reported, context=context)


def result_without_findings(analysis: Analysis, task: Task) -> CheckResult:
    """Return what the analysis tells of itself: what failed, what it left out, what it took."""
    result = initial_result(task).with_failures(analysis.failures).with_messages(analysis.messages)
    reported = {os.path.abspath(name) for name in broken(analysis.findings)}
    others = (file for file in analysis.passed_over if os.path.abspath(file.path) not in reported)
    large, special = lines_about(others)
    notes = (*result.notes, *analysis.notes)
    wanted = frozenset(task.filenames)
    unfollowed = sorted(call for call in analysis.unfollowed if call.filename in wanted)
    programs = [program for program in analysis.programs if not wanted.isdisjoint(program.files)]
    coverage = Coverage(
        len({program.begins for program in programs}),
        len(wanted.intersection(name for program in programs for name in program.files)),
        len(wanted),
        sum(program.unreached for program in programs),
        analysis.using,
    )
    return result._replace(
        warnings=(*result.warnings, *(line for line in large if line not in result.warnings)),
        notes=(*notes, *(line for line in special if line not in notes), *map(str, unfollowed)),
        times=analysis.times,
        skipped=analysis.skipped,
        context=result.context._replace(unfollowed=unfollowed, coverage=coverage),
    )


def initial_result(task: Task) -> CheckResult:
    """Return the result of a check that has discovered its files, and nothing more."""
    config = task.request.config
    unset = (key for key in DECIDES if getattr(config, key.replace("-", "_")) is None)
    return CheckResult(
        RenderContext(os.getcwd(), files=len(task.filenames), unset=frozenset(unset)),
        failures=(*plugins.active().failures, *task.failures),
        warnings=tuple(task.warnings),
        notes=tuple(task.notes),
    )


def is_asked_for(finding: Finding, wanted: Collection[str]) -> bool:
    """Return whether the finding belongs to one of the files `wanted`.

    One in a requirement file belongs to the files that its trace leads to as well.
    """
    if finding.span.filename in wanted:
        return True
    name = os.path.basename(finding.span.filename)
    is_requirement = REQUIREMENT_FILES.fullmatch(name) is not None
    return is_requirement and any(step.span.filename in wanted for step in finding.trace)


def broken(findings: Iterable[Finding]) -> set[str]:
    """Return the files that cannot be parsed."""
    return {finding.span.filename for finding in findings if finding.code == BROKEN}


def is_shown(finding: Finding, request: Request) -> bool:
    """Return whether the configuration of its file shows a finding of this certainty."""
    if finding.certainty is Certainty.DEFINITE:
        return True
    lowest = request.config_of(finding.span.filename).certainty
    return lowest is Certainty.UNLIKELY or lowest is finding.certainty


def new_findings(
    findings: Sequence[Finding],
    filenames: Collection[str],
    request: Request,
    sources: Mapping[str, Source],
) -> tuple[Sequence[Finding], list[str]]:
    """Return the findings that no baseline has, and messages on stale entries of the baselines."""
    some = (request.config_of(name).baseline_path for name in one_per_directory(tuple(filenames)))
    paths = {path for path in some if path is not None}
    if not paths:
        return findings, []
    from tpulint.diagnostics import baseline

    remaining = list(findings)
    messages: list[str] = []
    for path in sorted(paths):
        checked = [name for name in filenames if request.config_of(name).baseline_path == path]
        inside = set(checked)
        mine = [finding for finding in remaining if finding.span.filename in inside]
        codes = request.every_code(checked)
        compared = baseline.compare(mine, sources, path, checked, codes)
        messages += [f"{path}: stale: {entry}" for entry in compared.stale]
        if compared.stale:
            messages.append(f"{path}: `--write-baseline` writes it without the stale entries")
        new = set(map(id, compared.new))
        remaining = [
            finding
            for finding in remaining
            if finding.span.filename not in inside or id(finding) in new
        ]
    return remaining, messages


def truncate_trace(finding: Finding) -> Finding:
    """Return the finding with at most STEPS_A_LANE steps per lane: its beginning and its end."""
    lanes: dict[str, list[int]] = {}
    for index, step in enumerate(finding.trace):
        lanes.setdefault(step.lane, []).append(index)
    head = STEPS_A_LANE // 2
    shown: set[int] = set()
    for indices in lanes.values():
        is_short = len(indices) <= STEPS_A_LANE
        shown.update(indices if is_short else indices[:head] + indices[head - STEPS_A_LANE :])
    return finding._replace(trace=tuple(finding.trace[index] for index in sorted(shown)))


# The result in one of the output formats.


def rendered(result: CheckResult, output_format: str, statistics: bool) -> tuple[str, list[str]]:
    """Return the findings as text, and in messages what the format does not show."""
    from tpulint.output import summary

    messages: list[str] = []
    for_people = output_format in FOR_PEOPLE
    context = result.context._replace(
        color=for_people and result.context.color,
        unchecked=[Unchecked(str(part), getattr(part, "path", "")) for part in result.failures],
        links=for_people and result.context.links,
    )
    if statistics:
        text = summary.statistics(result.findings, result.times, output_format)
        messages += summary.coverage_lines(context.coverage, result.skipped)
        messages += summary.unfollowed_rows(context.unfollowed)
    elif for_people and not result.findings:  # all formats for people end alike
        text = summary.summary((), context)
    else:
        text = load(output_format)(result.findings, context)
    # What the formats for people end with, for those that do not.
    if not context.quiet and (not for_people or statistics):
        if context.hidden:
            messages += summary.hidden_lines(context.hidden, context.unset)
        if not statistics:
            messages += summary.unfollowed_lines(context.unfollowed)
    return text, messages
