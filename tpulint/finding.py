"""The findings that rules report, the steps that explain them, and the edits that fix them.

Rows and columns are 1-based and count characters, as in ruff's JSON; an end
column is exclusive. Every other module of the analyzer speaks in these types.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

DEVICE_LANE = "device"
HOST_LANE = "host"


class Certainty(enum.Enum):
    """The certainty that a fault happens.

    `DEFINITE`: on every run that reaches the reported line on a TPU.
    `POSSIBLE`: it depends on something that the analysis cannot see.
    `UNLIKELY`: it may be, but most programs like this one work, and few authors change them.
    """

    DEFINITE = "definite"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"


class Severity(enum.Enum):
    """`ERROR`: it fails, hangs or computes something else. `WARNING`: style, no effect.

    `PERFORMANCE`: it wastes time or memory of the TPU; such rules are off unless asked for.
    """

    ERROR = "error"
    WARNING = "warning"
    PERFORMANCE = "performance"


class Applicability(enum.Enum):
    """Ruff's words: a safe fix keeps the meaning, an unsafe one may change it."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Location(NamedTuple):
    """A place in a text: row and column, both from 1."""

    row: int
    column: int


class Span(NamedTuple):
    """A stretch of one file. `filename` is the path as the run was given it."""

    filename: str
    start: Location
    end: Location


# The kinds of calls that are not analyzed: beyond a limit of the analysis, and in device code
# those of functions outside the project, in modules that are not read, and that are not known.
LIMIT, OUTSIDE, UNREAD, UNKNOWN_FUNCTION = "limit", "outside", "unread", "unknown"


class UnfollowedCall(NamedTuple):
    """A call of `function` that was not analyzed, or not each time; `limit` says why."""

    filename: str
    row: int
    column: int
    function: str
    limit: str
    kind: str = LIMIT

    @property
    def message(self) -> str:
        return f"this call of `{self.function}` was not analyzed: {self.limit}"

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}:{self.column}: {self.message}"


class Step(NamedTuple):
    """One line of an explanation: what `lane` ("device", "host" or "replica N") does at `span`.

    holds: the variable that it holds from here on. waits_for: the variable, or the host function,
    that it cannot go on without.
    """

    lane: str
    span: Span
    message: str
    holds: str = ""
    waits_for: str = ""


class Edit(NamedTuple):
    """Replace what stands from `start` to `end` by `content`; equal ends insert, "" deletes."""

    start: Location
    end: Location
    content: str


class Change(NamedTuple):
    """A change of the syntax tree at a place of the finding's file.

    It is made by `function` of `diagnostics.tree_changes`, which also gets `arguments`.
    """

    function: str
    start: Location
    end: Location
    arguments: tuple[str | int | None, ...] = ()


class Fix(NamedTuple):
    """Edits of the finding's own file that are applied together or not at all.

    A rule may name changes of the tree instead of edits: libcst reads the file only if the finding
    is shown (`diagnostics.fix.with_edits`).
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...] = ()
    changes: tuple[Change, ...] = ()


class Finding(NamedTuple):
    """One fault at one place."""

    code: str
    message: str
    span: Span
    certainty: Certainty = Certainty.DEFINITE
    trace: tuple[Step, ...] = ()
    fix: Fix | None = None
