"""The result of a run so far: its findings, and messages about the run itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from tpulint.pipeline.progress import Progress

if TYPE_CHECKING:
    from tpulint.finding import Finding
    from tpulint.pipeline.warm import Warm
    from tpulint.source import Source


class Run:
    """The standing findings, and by code how many possible ones are hidden.

    `messages` are for standard error, `notes` too, but of a verbose run only; `failed` says that
    something asked for was not done (exit 2); `files` is the number of files that were checked,
    None while nobody looked for them, and `unparsed` the number of those that are no Python and
    of which nothing says so; `times` are seconds by rule.
    """

    def __init__(
        self,
        messages: Iterable[str] = (),
        failed: bool = False,
        *,
        progress: Progress | None = None,
    ) -> None:
        self.findings: list[Finding] = []
        self.hidden: Counter[str] = Counter()
        self.sources: dict[str, Source] = {}
        self.messages = list(messages)
        self.notes: list[str] = []
        self.failed = failed
        self.files: int | None = None
        self.unparsed = 0
        self.times: dict[str, float] = {}
        self.skipped: Mapping[str, int] = {}  # functions reached and not followed, by the reason
        self.unset: frozenset[str] = frozenset()  # configuration keys without a value
        self.progress = progress or Progress()
        self.warm: Warm | None = None  # what the last run of the same files found out

    def again(self) -> Run:
        """A run that begins where this one began: its messages, and no finding."""
        fresh = Run(self.messages, self.failed, progress=self.progress)
        fresh.files = self.files
        fresh.notes = self.notes
        fresh.unset = self.unset
        fresh.warm = self.warm
        return fresh

    def say(self, messages: Collection[str]) -> None:
        """Add what was not said before."""
        self.messages += [each for each in messages if each not in self.messages]


def fail(run: Run, message: str) -> None:
    """Note that something asked for was not done."""
    run.failed = True
    run.say([message])
