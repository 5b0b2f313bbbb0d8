"""The output of `tpulint explain` as plain data, and its JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class PlaceNote:
    """A place in a file; rows and columns are 1-based."""

    filename: str
    row: int
    column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}:{self.column}"


@dataclass(frozen=True)
class CallNote:
    """A call on the way to a line."""

    place: PlaceNote
    name: str


@dataclass(frozen=True)
class Named:
    """A name, or a dotted name, and its value."""

    name: str
    value: str


@dataclass(frozen=True)
class Reached:
    """One context in which a line runs. scopes: control flow and `with` blocks around it."""

    lane: str
    scopes: tuple[str, ...]
    calls: tuple[CallNote, ...]
    values: tuple[Named, ...]
    recorded: bool


@dataclass(frozen=True)
class EventNote:
    """An event of the program: an access, a cluster, a call. times: how often it is recorded."""

    place: PlaceNote
    lane: str
    text: str
    times: int


@dataclass(frozen=True)
class RuleNote:
    """The outcome of a rule at a line. state: "reported", "silent", "nothing here", ..."""

    code: str
    name: str
    state: str
    detail: str


@dataclass(frozen=True)
class FunctionNote:
    """A function of the file. lanes: where it is called; empty where nothing reaches it."""

    name: str
    row: int
    lanes: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class FileNote:
    """The summary of a file that was read."""

    computations: tuple[EventNote, ...]
    clusters: tuple[EventNote, ...]
    pipelines: tuple[EventNote, ...]
    functions: tuple[FunctionNote, ...]
    findings: tuple[RuleNote, ...]


@dataclass(frozen=True)
class LineNote:
    """A statement. placed: it is of a kind that is recorded; more: contexts that are left out."""

    row: int
    source: str
    placed: bool
    contexts: tuple[Reached, ...]
    more: int
    events: tuple[EventNote, ...]
    rules: tuple[RuleNote, ...]


@dataclass(frozen=True)
class Explanation:
    """The account of one file, or of one line of it. reasons: why it was read, or was not."""

    filename: str
    read: bool
    reasons: tuple[str, ...]
    file: FileNote | None
    line: LineNote | None


def explanation_json(found: Explanation) -> str:
    """Return the account as JSON."""
    import json

    return json.dumps(asdict(found), indent=2, ensure_ascii=False) + "\n"
