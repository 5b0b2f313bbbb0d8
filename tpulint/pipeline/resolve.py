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


def resolved(analysis: Analysis, task: Task, unsaved: Mapping[str, bytes]) -> CheckResult:
    """Return the findings in the files of the task that remain, and how many are hidden."""
    request = task.request
    result = initial_result(task)
    result.failures += analysis.failures
    result.add_messages(analysis.messages)
    result.notes += analysis.notes
    reported_files = {os.path.abspath(name) for name in broken(analysis.findings)}
    large, special = lines_about(
        file for file in analysis.passed_over if os.path.abspath(file.path) not in reported_files
    )
    result.warnings += [line for line in large if line not in result.warnings]
    result.notes += [line for line in special if line not in result.notes]
    result.skipped = analysis.skipped
    result.unfollowed = sorted(analysis.unfollowed)
    result.notes += map(str, result.unfollowed)
    result.times = analysis.times
    wanted = frozenset(task.filenames)
    findings = [finding for finding in analysis.findings if is_asked_for(finding, wanted)]
    marked = wanted.intersection(analysis.marked)
    files = {finding.span.filename for finding in findings}
    suppressors = files | {name for name in marked if "TPU002" in request.codes_of(name)}
    remaining: Sequence[Finding] = []
    if findings or suppressors:
        from tpulint.diagnostics.resolve import unsuppressed
        from tpulint.source import read_all

        names = {step.span.filename for finding in findings for step in finding.trace}
        result.sources.update(read_all(sorted(names | suppressors), unsaved))
        remaining = unsuppressed(
            findings, result.sources, sorted(suppressors), task.partial, request
        )
    shown = [finding for finding in remaining if is_shown(finding, request)]
    result.hidden.update(finding.code for finding in remaining if not is_shown(finding, request))
    new = new_findings(shown, task.filenames, request, result)
    result.findings = [truncate_trace(finding) for finding in new]
    result.unparsed = len(broken(findings) - broken(result.findings))
    if findings:
        from tpulint.diagnostics.resolve import free_trees, with_fixes

        if request.fixes:
            result.findings = with_fixes(result.findings, result.sources)
        free_trees()
    return result


def initial_result(task: Task) -> CheckResult:
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
    return {finding.span.filename for finding in findings if finding.code == BROKEN}


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
        checked = [name for name in filenames if request.config_of(name).baseline_path == path]
        inside = set(checked)
        mine = [finding for finding in remaining if finding.span.filename in inside]
        codes = request.every_code(checked)
        compared = baseline.compare(mine, result.sources, path, checked, codes)
        result.add_messages([f"{path}: stale: {entry}" for entry in compared.stale])
        kept = set(map(id, compared.new))
        remaining = [
            finding
            for finding in remaining
            if finding.span.filename not in inside or id(finding) in kept
        ]
    return remaining


def configurations(filenames: Iterable[str], request: Request) -> dict[str, Config]:
    """Return the configuration of each folder that holds one of the files."""
    from tpulint.pipeline.request import one_per_directory

    return {folder: request.config_of(folder) for folder in one_per_directory(filenames)}


def truncate_trace(finding: Finding) -> Finding:
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
