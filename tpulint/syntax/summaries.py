"""The summaries of the modules of a program, made when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.finding import Finding, Location, Span
from tpulint.source import Source
from tpulint.syntax import ir
from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.parse import SyntaxProblem
from tpulint.unfinished import is_unfinished


class Store:
    """The summaries of modules; what cannot be parsed, and is meant to be, is a TPU001 finding."""

    def __init__(self) -> None:
        self._open: list[ir.ModuleSummary] = []
        self.findings: list[Finding] = []

    def one(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary | None:
        """Return the summary of a module that was imported; no finding where it has none."""
        try:
            return self._opened(self._summarized(filename, data, text))
        except SyntaxProblem:
            return None

    def many(self, sources: list[Source]) -> Iterator[tuple[Source, ir.ModuleSummary | None]]:
        """Yield the summaries of `sources`, in order; None where there is a finding instead."""
        for source in sources:
            try:
                facts = self._summarized(source.filename, source.data, source.text)
            except SyntaxProblem as problem:
                if not is_unfinished(source.text, problem.row):
                    place = Location(problem.row, problem.column)
                    span = Span(source.filename, place, place)
                    self.findings.append(Finding("TPU001", problem.reason, span))
                yield source, None
            else:
                yield source, self._opened(facts)

    def _summarized(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary:
        """Return the summary of one module."""
        return summarize(text)

    def _opened(self, facts: ir.ModuleSummary) -> ir.ModuleSummary:
        self._open.append(facts)
        return facts

    def release(self) -> None:
        """Drop the trees of what was read: few functions will be read that were not."""
        for facts in self._open:
            if facts.pieces is not None:
                facts.pieces.release()


class WarmStore(Store):
    """A store of one process that lives on: it keeps the summary of each file that stays.

    They are kept by file, not by content: to the interpreter, two files with one text are two.
    """

    def __init__(self) -> None:
        super().__init__()
        self._warm: dict[str, tuple[bytes, ir.ModuleSummary]] = {}

    def begin(self) -> None:
        """Begin the next reading."""
        self._open = []
        self.findings = []

    def _summarized(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary:
        before, facts = self._warm.get(filename, (b"", None))
        if facts is None or data != before:
            facts = summarize(text)
            self._warm[filename] = (data, facts)
        return facts
