"""The interface of a rule: a class with its code, its words and `check`.

A rule reads the program in its own terms (computations, clusters, accesses) and
has one verb, `report`. It knows nothing of files, selection or output.

What each rule names comes from here, as a plug-in's rule takes all from `tpulint.extend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

from tpulint.finding import Applicability, Certainty, Finding, Fix, Severity, Span, Step
from tpulint.frontends.tensorflow.program import Program

__all__ = ["Applicability", "Certainty", "Program", "Report", "Rule", "Severity", "register"]


class Report(Protocol):
    """Say one finding of the rule that is running.

    doubt: what would settle a finding that is not sure, "unless soft placement is on".
    """

    def __call__(
        self,
        span: Span,
        message: str,
        *,
        certainty: Certainty = ...,
        trace: tuple[Step, ...] = ...,
        fix: Fix | None = ...,
        doubt: str = ...,
    ) -> None: ...


class Rule(ABC):
    """One fault that programs can have. The table of all rules, `codes.tsv`, is made of these.

    `code`: as users write it; stable once it is released.
    `name`: in kebab case.
    `summary`: one line without a full stop.
    `fixes`: the kinds of fix that its findings can come with.
    `url`: the address of the page of a plug-in's rule, if it has one on the web.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    summary: ClassVar[str]
    fixes: ClassVar[tuple[Applicability, ...]] = ()
    url: ClassVar[str] = ""

    @abstractmethod
    def check(self, program: Program, report: Report) -> None:
        """Report each place of the fault in `program`."""


REGISTERED: dict[str, type[Rule]] = {}

AnyRule = TypeVar("AnyRule", bound=type[Rule])


def register(rule: AnyRule) -> AnyRule:
    """Make a class of rules known by its code."""
    REGISTERED[rule.code] = rule
    return rule


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
        doubt: str = "",
    ) -> None:
        if doubt and certainty is not Certainty.DEFINITE:
            message = f"{message} ({doubt})"
        before = self.findings.get(span)
        ranks = list(Certainty)  # the most certain first
        if before is None or ranks.index(certainty) < ranks.index(before.certainty):
            self.findings[span] = Finding(self.code, message, span, certainty, trace, fix)
