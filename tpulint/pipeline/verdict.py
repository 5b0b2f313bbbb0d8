"""Judge findings by suppressions, per-file-ignores, certainty and the baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tpulint.config import Config
from tpulint.finding import Certainty, Finding
from tpulint.pipeline.request import Request
from tpulint.pipeline.run import Run

STEPS_A_LANE = 12
BROKEN = "TPU001"


def judge(
    found: Sequence[Finding],
    filenames: Collection[str],
    marked: Collection[str],
    partial: Collection[str],
    request: Request,
    given: Mapping[str, bytes],
    run: Run,
) -> None:
    """Put into `run` the findings that stand, their sources, and how many are hidden.

    `filenames` were checked, those in `partial` without the program around them; `marked` are
    those of them that may hold suppressions.
    """
    files = {each.span.filename for each in found}
    suppressors = files | {each for each in marked if "TPU002" in request.codes_of(each)}
    standing: Sequence[Finding] = []
    if found or suppressors:
        from tpulint.diagnostics.resolve import stand
        from tpulint.source import read_all

        places = {step.span.filename for each in found for step in each.trace}
        run.sources.update(read_all(sorted(places | suppressors), given))
        standing = stand(found, run.sources, sorted(suppressors), partial, request, reported())
    shown = [each for each in standing if shows(each, request)]
    run.hidden.update(each.code for each in standing if not shows(each, request))
    run.findings = [trimmed(each) for each in new_ones(shown, filenames, request, run)]
    run.unparsed = len(broken(found) - broken(run.findings))


def reported() -> frozenset[str]:
    """The codes that something reports."""
    from tpulint.rules import written

    return frozenset((BROKEN, "TPU002", *written()))


def broken(findings: Iterable[Finding]) -> set[str]:
    """The files that cannot be parsed."""
    return {each.span.filename for each in findings if each.code == BROKEN}


def shows(finding: Finding, request: Request) -> bool:
    if finding.certainty is Certainty.DEFINITE:
        return True
    return request.config_of(finding.span.filename).certainty is Certainty.POSSIBLE


def new_ones(
    findings: Sequence[Finding], filenames: Collection[str], request: Request, run: Run
) -> Sequence[Finding]:
    """The findings that no baseline knows; stale entries of the baselines become messages."""
    by_path: dict[str, set[str]] = {}
    for folder, config in configurations(filenames, request).items():
        if config.baseline_path is not None:
            by_path.setdefault(config.baseline_path, set()).add(folder)
    if not by_path:
        return findings
    from tpulint.diagnostics import baseline

    standing = list(findings)
    for path in sorted(by_path):
        checked = [each for each in filenames if request.config_of(each).baseline_path == path]
        inside = set(checked)
        mine = [each for each in standing if each.span.filename in inside]
        codes = request.every_code(checked)
        judged = baseline.judge(mine, run.sources, path, checked, codes)
        run.say([f"{path}: stale: {entry}" for entry in judged.stale])
        kept = set(map(id, judged.standing))
        standing = [
            each for each in standing if each.span.filename not in inside or id(each) in kept
        ]
    return standing


def configurations(filenames: Iterable[str], request: Request) -> dict[str, Config]:
    """The configuration of each folder that holds one of the files."""
    from tpulint.pipeline.request import one_a_folder

    return {each: request.config_of(each) for each in one_a_folder(filenames)}


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
