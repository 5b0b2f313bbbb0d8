"""The findings of an analysis, before anything is suppressed or hidden."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tpulint.disk import PassedOver
from tpulint.finding import Finding, UnfollowedCall

if TYPE_CHECKING:
    from tpulint.pipeline.failure import Failure


class ProgramInputs(NamedTuple):
    """All files and folders that the reading of a program depends on, by absolute path.

    folders: those of which all names were asked for, with the names in them that count.
    names: the names that other folders were asked for, and whether they were there.
    requirements: the requirement files in the folders that were searched for them.
    """

    files: frozenset[str]
    folders: dict[str, list[str]]
    names: dict[str, dict[str, bool]]
    requirements: dict[str, list[str]]


class Analysis:
    """The findings of one program, or of several together."""

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        messages: Iterable[str] = (),
        marked: Iterable[str] = (),
    ) -> None:
        self.findings = list(findings)
        self.failures: list[Failure] = []
        self.messages = list(messages)  # for standard error, apart from the failures
        self.notes: list[str] = []  # for standard error, of a verbose check only
        self.read = False  # whether any file held something to read
        self.imported: list[str] = []  # files read that were not asked for
        self.marked = list(marked)  # files that may hold suppressions
        self.skipped: Counter[str] = Counter()  # functions not followed, by the reason
        self.unfollowed: set[UnfollowedCall] = set()  # by a limit of the analysis
        self.inputs: ProgramInputs | None = None  # of one program that was read
        self.followed: set[str] = set()  # files that programs were read from, by absolute path
        self.passed_over: list[PassedOver] = []  # files that were not read for what they are
        self.times: defaultdict[str, float] = defaultdict(float)  # seconds by rule

    def add(self, other: Analysis) -> None:
        """Add the results of another part of the same check."""
        self.findings += other.findings
        self.failures += [each for each in other.failures if each not in self.failures]
        self.messages += [each for each in other.messages if each not in self.messages]
        self.notes += other.notes
        self.read = self.read or other.read
        self.imported += other.imported
        self.followed |= other.followed
        if other.inputs is not None:
            self.followed |= other.inputs.files
        self.marked += other.marked
        self.skipped.update(other.skipped)
        self.pass_over(other.passed_over)
        self.unfollowed |= other.unfollowed
        for code, seconds in other.times.items():
            self.times[code] += seconds

    def pass_over(self, files: Iterable[PassedOver]) -> None:
        """Note files that were passed over, each once."""
        self.passed_over += [each for each in files if each not in self.passed_over]
