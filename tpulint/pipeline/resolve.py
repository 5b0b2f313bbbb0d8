"""Resolve findings by suppressions, per-file-ignores, certainty and the baselines."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from tpulint import plugins
from tpulint.config import Config
from tpulint.finding import Certainty, Finding
from tpulint.incremental.model import Analysis
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.request import Request
from tpulint.pipeline.task import Task, lines_about

STEPS_A_LANE = 12
BROKEN = "TPU001"


def resolved(analysis: Analysis, task: Task, given: Mapping[str, bytes]) -> CheckResult:
    """Return the findings in the files of the task that remain, and how many are hidden."""
    request = task.request
    result = begun(task)
    result.failures += analysis.failures
    result.add_messages(analysis.messages)
    result.notes += analysis.notes
    reported_files = {os.path.abspath(each) for each in broken(analysis.findings)}
    large, special = lines_about(
        each for each in analysis.passed_over if os.path.abspath(each.path) not in reported_files
    )
    result.warnings += [each for each in large if each not in result.warnings]
    result.notes += [each for each in special if each not in result.notes]
    result.skipped = analysis.skipped
    result.unfollowed = sorted(analysis.unfollowed)
    result.notes += map(str, result.unfollowed)
    result.times = analysis.times
    wanted = frozenset(task.filenames)
    found = [each for each in analysis.findings if is_asked_for(each, wanted)]
    marked = wanted.intersection(analysis.marked)
    files = {each.span.filename for each in found}
    suppressors = files | {each for each in marked if "TPU002" in request.codes_of(each)}
    remaining: Sequence[Finding] = []
    if found or suppressors:
        from tpulint.diagnostics.resolve import unsuppressed
        from tpulint.source import read_all

        names = {step.span.filename for each in found for step in each.trace}
        result.sources.update(read_all(sorted(names | suppressors), given))
        remaining = unsuppressed(found, result.sources, sorted(suppressors), task.partial, request)
    shown = [each for each in remaining if is_shown(each, request)]
    result.hidden.update(each.code for each in remaining if not is_shown(each, request))
    new = new_findings(shown, task.filenames, request, result)
    result.findings = [trimmed(each) for each in new]
    result.unparsed = len(broken(found) - broken(result.findings))
    if found:
        from tpulint.diagnostics.resolve import free_trees, with_fixes

        if request.fixes:
            result.findings = with_fixes(result.findings, result.sources)
        free_trees()
    return result


def begun(task: Task) -> CheckResult:
    """Return the result of a check that has discovered its files, and nothing more."""
    config = task.request.config
    unset = ("target-tensorflow",) if config.target_tensorflow is None else ()
    return CheckResult(
        failures=(*plugins.active().failures, *task.failures),
        warnings=task.warnings,
        notes=task.notes,
        files=len(task.filenames),
        unset=frozenset(unset),
    )


def is_asked_for(finding: Finding, wanted: Collection[str]) -> bool:
    """Return whether the finding belongs to one of the files `wanted`.

    One in a requirement file belongs to the files that its trace leads to as well.
    """
    from tpulint.analysis.names.target_release import FILES

    if finding.span.filename in wanted:
        return True
    is_requirement = FILES.fullmatch(os.path.basename(finding.span.filename)) is not None
    return is_requirement and any(step.span.filename in wanted for step in finding.trace)


def broken(findings: Iterable[Finding]) -> set[str]:
    """Return the files that cannot be parsed."""
    return {each.span.filename for each in findings if each.code == BROKEN}


def is_shown(finding: Finding, request: Request) -> bool:
    """Return whether the configuration of its file shows a finding of this certainty."""
    if finding.certainty is Certainty.DEFINITE:
        return True
    return request.config_of(finding.span.filename).certainty is Certainty.POSSIBLE


def new_findings(
    findings: Sequence[Finding], filenames: Collection[str], request: Request, result: CheckResult
) -> Sequence[Finding]:
    """Return the findings that no baseline has; stale entries of the baselines become messages."""
    by_path: dict[str, set[str]] = {}
    for folder, config in configurations(filenames, request).items():
        if config.baseline_path is not None:
            by_path.setdefault(config.baseline_path, set()).add(folder)
    if not by_path:
        return findings
    from tpulint.diagnostics import baseline

    remaining = list(findings)
    for path in sorted(by_path):
        checked = [each for each in filenames if request.config_of(each).baseline_path == path]
        inside = set(checked)
        mine = [each for each in remaining if each.span.filename in inside]
        codes = request.every_code(checked)
        compared = baseline.compare(mine, result.sources, path, checked, codes)
        result.add_messages([f"{path}: stale: {entry}" for entry in compared.stale])
        kept = set(map(id, compared.new))
        remaining = [
            each for each in remaining if each.span.filename not in inside or id(each) in kept
        ]
    return remaining


def configurations(filenames: Iterable[str], request: Request) -> dict[str, Config]:
    """Return the configuration of each folder that holds one of the files."""
    from tpulint.pipeline.request import one_a_folder

    return {each: request.config_of(each) for each in one_a_folder(filenames)}


def trimmed(finding: Finding) -> Finding:
    """Return the finding with at most STEPS_A_LANE steps per lane: its beginning and its end."""
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
