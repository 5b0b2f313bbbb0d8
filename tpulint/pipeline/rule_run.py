"""Run the rules on a program."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from tpulint import rules
from tpulint.codes import RULES
from tpulint.finding import Finding
from tpulint.frontends.tensorflow.program import Program
from tpulint.incremental.failure import RuleFailure, describe


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
        if code in codes:
            yield _run_rule(program, code)


def _run_rule(program: Program, code: str) -> RuleResult:
    begun = time.perf_counter()
    findings: list[Finding] = []
    failure = None
    try:
        findings = rules.run(program, {code})
    except Exception as error:
        failure = RuleFailure(code, describe(error))
    return RuleResult(code, findings, failure, time.perf_counter() - begun)
