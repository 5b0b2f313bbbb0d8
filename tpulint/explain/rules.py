"""The result of each rule at some rows: the events it looked at, and the reason it is silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cached_property

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.program import Program
from tpulint.codes import CODES
from tpulint.diagnostics.resolve import ignored
from tpulint.diagnostics.suppress import read_comments
from tpulint.explain.events import Recorded, short
from tpulint.explain.explanation import NOTHING, RuleNote
from tpulint.finding import Certainty, Finding
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.request import Request
from tpulint.pipeline.resolve import is_shown, new_findings
from tpulint.pipeline.rule_run import RuleResult
from tpulint.source import Source

# Record which rules look at which of some events while they run.
#
# The events take a class that notes who reads their attributes; it is made for them alone, so
# that a check, which asks for none of this, pays nothing.

# Attributes that only say of which kind an event is, and where: a rule reads these of all.
KIND = frozenset(
    ["path", "last", "kind", "mode", "how", "taker", "site", "change", "effect", "context"]
)
# The lists of a computation: a rule that asks for calls goes through those of every computation.
LISTS = KIND | frozenset(each.name for each in fields(Computation) if each.type.startswith("list["))


class Looks:
    """The rules' findings in a program, the events that they read, and the rules that failed."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.failures: dict[str, str] = {}
        self._read: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)

    def run(
        self, program: Program, results: Iterable[RuleResult], events: Iterable[Recorded]
    ) -> None:
        """Take the results of the rules on `program`, each of which runs when it is taken."""
        for name, item in vars(Program).items():
            if isinstance(item, cached_property):  # else only the rule that asks first would look
                getattr(program, name)
        noted: dict[str, set[str]] = defaultdict(set)
        for event in events:
            if not isinstance(event, tuple):
                passed_over = LISTS if isinstance(event, Computation) else KIND
                _watch(event, noted[short(event)], passed_over)
        for each in results:
            self.findings += each.findings
            if each.failure is not None:
                self.failures[each.code] = each.failure.error
            for text, names in noted.items():
                if names:
                    self._read[each.code].setdefault(text, set()).update(names)
                    names.clear()

    def of(self, code: str) -> list[str]:
        """Return what the rule looked at, in words."""
        return [f"{text} ({', '.join(sorted(names))})" for text, names in self._read[code].items()]


def _watch(event: Recorded, noted: set[str], passed_over: frozenset[str]) -> None:
    """Let `event` note the names of its attributes that are read from now on, but some."""
    plain = type(event)

    def noting(self: object, name: str) -> object:
        if not name.startswith("_") and name not in passed_over:
            noted.add(name)
        return plain.__getattribute__(self, name)

    watched = type(plain.__name__, (plain,), {"__slots__": (), "__getattribute__": noting})
    object.__setattr__(event, "__class__", watched)


# Say what became of each rule at some rows, and of each finding.


class Resolution:
    """The decisions of a check about the findings in one file, with their reasons."""

    def __init__(self, request: Request, source: Source) -> None:
        self.request = request
        self.source = source
        self.filename = source.filename
        self.ignored = ignored(request.config_of(self.filename), self.filename)
        self.comments = read_comments(source, request.noqa)

    def state(self, finding: Finding) -> str:
        """Return "reported", or why a check does not report the finding."""
        if finding.span.filename != self.filename:
            return "reported elsewhere, through this line"
        if finding.code not in self.request.codes_of(self.filename):
            return "not selected"
        if finding.code in self.ignored:
            return "ignored in this file (per-file-ignores)"
        if self.comments.covers(finding):
            return "suppressed by a comment"
        if not is_shown(finding, self.request):
            return "possible and hidden (--certainty possible shows it)"
        result = CheckResult()
        result.sources[self.filename] = self.source
        if not new_findings([finding], [self.filename], self.request, result):
            return "in the baseline"
        return "reported" if finding.certainty is Certainty.DEFINITE else "reported as possible"

    def note(self, finding: Finding) -> RuleNote:
        start = finding.span.start
        there = f"{finding.span.filename}:{start.row}:{start.column}: {finding.message}"
        return RuleNote(
            finding.code, CODES[finding.code].name, self.state(finding), " ".join(there.split())
        )

    def in_file(self, findings: Sequence[Finding]) -> tuple[RuleNote, ...]:
        """Return what became of the findings in the file, by place."""
        here = sorted(
            {each for each in findings if each.span.filename == self.filename},
            key=lambda each: (each.span, each.code),
        )
        return tuple(self.note(each) for each in here)

    def at(self, rows: range, findings: Sequence[Finding], looks: Looks) -> tuple[RuleNote, ...]:
        """Return what became of each rule at `rows`: its findings there, else why there is none."""
        notes: list[RuleNote] = []
        for code, row in CODES.items():
            here = {each for each in findings if each.code == code and self._is_at(each, rows)}
            notes += [self.note(each) for each in sorted(here, key=lambda each: each.span)]
            if not here:
                state, detail = _silence(code, looks)
                notes.append(RuleNote(code, row.name, state, detail))
        return tuple(notes)

    def _is_at(self, finding: Finding, rows: range) -> bool:
        """Return whether the finding, or a step of its trace, is at one of the rows."""
        spans = [finding.span, *(step.span for step in finding.trace)]
        return any(each.filename == self.filename and each.start.row in rows for each in spans)


def _silence(code: str, looks: Looks) -> tuple[str, str]:
    if code in looks.failures:
        return "failed", looks.failures[code]
    looked = looks.of(code)
    return ("silent", f"it looked at {'; '.join(looked)}") if looked else (NOTHING, "")
