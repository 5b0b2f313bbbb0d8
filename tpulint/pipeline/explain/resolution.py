"""Say what became of each rule at some rows, and of each finding."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.codes import CODES
from tpulint.diagnostics.resolve import ignored
from tpulint.diagnostics.suppress import read_comments
from tpulint.finding import Certainty, Finding
from tpulint.output.explanation import RuleNote
from tpulint.output.explanation_text import NOTHING
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.explain.looks import Looks
from tpulint.pipeline.request import Request
from tpulint.pipeline.resolve import is_shown, new_findings
from tpulint.source import Source


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
