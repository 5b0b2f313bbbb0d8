"""The findings of an analysis, and what there is to say about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tpulint.finding import Finding


class Inputs(NamedTuple):
    """All that the reading of a program asked for, by absolute path.

    folders: those that were looked into, with the names in them that count.
    """

    files: frozenset[str]
    folders: dict[str, list[str]]


class Analysis:
    """Findings, lines for standard error, and whether something of our own failed."""

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        messages: Iterable[str] = (),
        marked: Iterable[str] = (),
    ) -> None:
        self.findings = list(findings)
        self.messages = list(messages)
        self.failed = False
        self.read = False  # whether any file held something to read
        self.imported: list[str] = []  # files read that were not asked for
        self.marked = list(marked)  # files that may hold suppressions
        self.skipped: Counter[str] = Counter()  # functions not followed, by the reason
        self.inputs: Inputs | None = None  # of one program that was read
        self.times: defaultdict[str, float] = defaultdict(float)  # seconds by rule

    def add(self, other: Analysis) -> None:
        self.findings += other.findings
        self.messages += [each for each in other.messages if each not in self.messages]
        self.failed = self.failed or other.failed
        self.read = self.read or other.read
        self.imported += other.imported
        self.marked += other.marked
        self.skipped.update(other.skipped)
        for code, seconds in other.times.items():
            self.times[code] += seconds
