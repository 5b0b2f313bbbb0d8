"""The result of a check: the findings that remain, and messages about the check itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpulint.finding import Finding, UnfollowedCall
    from tpulint.incremental.failure import Failure
    from tpulint.source import Source


class CheckResult:
    """The findings that remain, and by code how many possible ones are hidden.

    failures: what was asked for and not done (exit status 2). warnings, messages: further lines
    for standard error; a quiet check has no warnings. notes: such lines of a verbose check.
    files: how many were checked; None: not counted. unparsed: how many of them are no
    valid Python, with no finding that says so. times: seconds by rule. skipped: functions that
    were reached and not followed, by the reason. unfollowed: calls that a limit of the analysis
    kept from being followed. unset: configuration keys without a value.
    """

    def __init__(
        self,
        *,
        failures: Iterable[Failure] = (),
        warnings: Iterable[str] = (),
        notes: Iterable[str] = (),
        files: int | None = None,
        unset: frozenset[str] = frozenset(),
    ) -> None:
        self.findings: list[Finding] = []
        self.hidden: Counter[str] = Counter()
        self.sources: dict[str, Source] = {}
        self.failures = list(failures)
        self.warnings = list(warnings)
        self.messages: list[str] = []
        self.notes = list(notes)
        self.files = files
        self.unparsed = 0
        self.times: Mapping[str, float] = {}
        self.skipped: Mapping[str, int] = {}
        self.unfollowed: list[UnfollowedCall] = []
        self.unset = unset

    def add_messages(self, messages: Collection[str]) -> None:
        """Add the messages that are not there yet."""
        self.messages += [message for message in messages if message not in self.messages]
