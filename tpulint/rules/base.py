"""The interface of a rule: a module with `check(program, report)`, named by its code.

A rule reads the program in its own terms (computations, clusters, accesses) and
has one verb, `report`. It knows nothing of files, selection or output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tpulint.analysis.domain.program import Program
from tpulint.finding import Certainty, Finding, Fix, Span, Step


class Report(Protocol):
    """Say one finding of the rule that is running."""

    def __call__(
        self,
        span: Span,
        message: str,
        *,
        certainty: Certainty = ...,
        trace: tuple[Step, ...] = ...,
        fix: Fix | None = ...,
    ) -> None: ...


class Rule(Protocol):
    """The shape of a rule's module."""

    def check(self, program: Program, report: Report) -> None: ...


@dataclass
class Reporter:
    """The findings of one rule; of several at one place, the most certain is kept."""

    code: str
    findings: dict[Span, Finding] = field(default_factory=dict)

    def __call__(
        self,
        span: Span,
        message: str,
        *,
        certainty: Certainty = Certainty.DEFINITE,
        trace: tuple[Step, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        before = self.findings.get(span)
        if before is None or (
            before.certainty is Certainty.POSSIBLE and certainty is Certainty.DEFINITE
        ):
            self.findings[span] = Finding(self.code, message, span, certainty, trace, fix)
