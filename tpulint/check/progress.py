"""The progress of a long run: one line on a terminal's standard error, and nothing elsewhere.

The base class is silent; `TerminalProgress` shows itself once the run has taken two seconds.
"""

from __future__ import annotations

import time
from typing import TextIO

PATIENCE = 2.0  # seconds that pass before anything is shown
PAUSE = 0.1  # seconds between two changes of the line
CLEAR = "\r\x1b[K"


class Progress:
    """A silent receiver of a run's progress."""

    def step(self, what: str, done: int = 0, total: int = 0) -> None:
        """Report that `what` is being done, `done` of `total`; a total of 0 is not known."""

    def end(self) -> None:
        """Take the line away: findings or the process's end follow."""


class TerminalProgress(Progress):
    """A progress line on `stream`, which is a terminal, within `width` columns."""

    def __init__(self, stream: TextIO, width: int) -> None:
        self._stream = stream
        self._width = width
        self._started = time.monotonic()
        self._next = self._started + PATIENCE
        self._shown = False
        self._last = ""

    def step(self, what: str, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if now < self._next and (what == self._last or not self._shown):
            return
        self._last = what
        self._next = now + PAUSE
        self._shown = True
        count = f" {done:,} of {total:,}" if total else ""
        line = f"tpulint: {what}{count} ({now - self._started:.0f} s)"
        self._stream.write(CLEAR + line[: self._width - 1])
        self._stream.flush()

    def end(self) -> None:
        if self._shown:
            self._stream.write(CLEAR)
            self._stream.flush()
            self._shown = False
