"""The analysis of one program: read its files, summarize them, and run the rules on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from tpulint import rules
from tpulint.absint.domain.site import Module
from tpulint.check.programs import unreadable
from tpulint.codes import RULES
from tpulint.finding import Finding
from tpulint.frontends import is_start
from tpulint.frontends.tensorflow.build_program import Summarized
from tpulint.frontends.tensorflow.program import Program
from tpulint.incremental.model import Batch, Job, RuleFailure, describe
from tpulint.source import Source, UnreadableSource, read_source
from tpulint.syntax.lazy_module import Store

# The files that a program begins in.

# The reading of a program needs up to 40 KB for each row.
ROWS_LIMIT = 50_000
CHARACTERS_LIMIT = 3 * 1024 * 1024


def read_sources(batch: Batch, job: Job) -> tuple[list[Source], list[Finding]]:
    """Return the sources that a program begins in, and TPU001 for the files that cannot be read.

    A file that cannot matter does not have to be text at all.
    """
    sources, findings = [], []
    for filename in job.seeds:
        try:
            data = batch.disk.read(os.path.abspath(filename))
            if not is_start(data, batch.settings.boundary_names):
                continue
            source = read_source(filename, data)
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
            continue
        except UnreadableSource as error:
            findings.append(unreadable(filename, error.reason, error.row, error.column))
            continue
        if len(source.text) > CHARACTERS_LIMIT or source.text.count("\n") > ROWS_LIMIT:
            limits = f"{ROWS_LIMIT:,} lines or {CHARACTERS_LIMIT:,} characters"
            reason = f"is not checked: it is longer than {limits}"
            findings.append(unreadable(filename, reason, 1, 1))
        else:
            sources.append(source)
            findings += [unreadable(filename, *problem) for problem in source.problems]
    return sources, findings


# Their summaries.


def summarize(sources: list[Source], store: Store) -> list[Summarized]:
    """Return the modules of the sources; `store` has their summaries, or makes them."""
    summarized = []
    for source, facts in store.many(sources):
        path = os.path.abspath(source.filename)
        module = None if facts is None else Module(source.filename, path, source.text, facts)
        summarized.append(Summarized(source.filename, module))
    return summarized


# The rules.


class RuleResult(NamedTuple):
    """The findings of one rule, or its failure, and the seconds that it took."""

    code: str
    findings: list[Finding]
    failure: RuleFailure | None
    seconds: float


def run_rules(
    program: Program, codes: Collection[str], checkpoint: Callable[[], None] | None
) -> Iterator[RuleResult]:
    """Yield the result of each rule as it has run; one that fails costs its own findings only."""
    for code in RULES:
        if checkpoint is not None:
            checkpoint()
        if code not in codes:
            continue
        start = time.perf_counter()
        findings: list[Finding] = []
        failure = None
        try:
            findings = rules.run(program, {code})
        except Exception as error:
            failure = RuleFailure(code, describe(error))
        yield RuleResult(code, findings, failure, time.perf_counter() - start)
