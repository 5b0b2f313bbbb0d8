"""The analysis of one program, put together from its parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis, ProgramInputs
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.program_inputs import counting, required

if TYPE_CHECKING:
    from tpulint.analysis.resolver.files import Files
    from tpulint.finding import Finding
    from tpulint.frontends.tensorflow.program import Program
    from tpulint.pipeline.rule_run import RuleResult


class BuiltProgram(NamedTuple):
    """A program, with TPU001 for what cannot be parsed."""

    program: Program | None  # None where no file holds anything to read
    findings: tuple[Finding, ...] = ()
    files: Files | None = None  # that were looked for and read


class ProgramAnalysis(NamedTuple):
    """The findings of a program, and the program; None where it could not be read as a whole."""

    analysis: Analysis
    program: Program | None = None


def analysis_of(
    batch: Batch, job: Job, built: BuiltProgram, results: Iterable[RuleResult]
) -> Analysis:
    """Return the analysis of a program that was built, and on which the rules have run."""
    found = Analysis(built.findings)
    if built.program is not None:
        found.failures += built.program.failures
        add_results(found, built.program, results)
        found.skipped.update(built.program.skipped)
        found.unfollowed.update(built.program.unfollowed)
        asked = set(batch.filenames)
        modules = built.program.modules
        found.imported += [each.path for each in modules if each.filename not in asked]
    if batch.needs_inputs:
        found.inputs = inputs_of(batch, job, built)
    return found


def add_results(found: Analysis, program: Program, results: Iterable[RuleResult]) -> None:
    """Add the results of the rules on the program."""
    found.read = True
    for each in results:
        found.findings += each.findings
        found.times[each.code] += each.seconds
        if each.failure is not None:
            found.failures.append(each.failure)
    found.imported += program.targets.consulted


def inputs_of(batch: Batch, job: Job, built: BuiltProgram) -> ProgramInputs:
    """Return all that the reading of a program depended on; for when the rules have run."""
    from tpulint.analysis.resolver.files import Files

    files = built.files or Files({}, batch.disk, installed=INSTALLED)
    files.read.update(map(os.path.abspath, job.seeds))
    for path in list(files.read):
        files.look_around(path)
    read, requirements = set(files.read), {}
    if built.program is not None:
        targets = built.program.targets
        read.update(targets.consulted)
        requirements = {path: required(names) for path, names in targets.folders.items()}
    listed = {path: counting(names) for path, names in files.folders.items()}
    return ProgramInputs(frozenset(read), listed, dict(files.names), requirements)
