"""Failures: work that was asked for and not done, which ends a check with exit status 2."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tpulint.codes import CODES

if TYPE_CHECKING:
    from tpulint.analysis.domain.program import ReadingFailure
    from tpulint.plugins import PluginFailure


class FileFailure(NamedTuple):
    """A path that does not exist, or a file or directory that cannot be read or written."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ProgramFailure(NamedTuple):
    """An internal error that costs the findings of the program that begins in the file."""

    path: str
    error: str

    def __str__(self) -> str:
        return f"{self.path}: internal error: {self.error}"


class RuleFailure(NamedTuple):
    """An internal error that costs the findings of one rule in one program."""

    code: str
    error: str

    def __str__(self) -> str:
        plugin = CODES[self.code].plugin
        if plugin:
            return f"plug-in {plugin}: error in rule {self.code}: {self.error}"
        return f"internal error in rule {self.code}: {self.error}"


if TYPE_CHECKING:
    Failure = FileFailure | ProgramFailure | RuleFailure | ReadingFailure | PluginFailure


def describe(error: BaseException) -> str:
    """Return the error in one line, with the place in the code that a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"
