"""An account of the analysis of a file or a line: as data, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tpulint.output.text import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The output of `tpulint explain` as plain data, and its JSON.


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
    """A name, or a dotted name, and its value. lost: where and why it is not known."""

    name: str
    value: str
    lost: str = ""


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


def as_json(account: DataclassInstance) -> str:
    import json

    return json.dumps(asdict(account), indent=2, ensure_ascii=False) + "\n"


# The account of `tpulint explain`, for people.

LANES = ("device", "host cluster", "input pipeline", "host")
NOTHING = "nothing here"


def explanation_text(explanation: Explanation) -> str:
    lines = [f"{explanation.filename}: {'read' if explanation.read else 'not read'}"]
    lines += [f"  {reason}" for reason in explanation.reasons]
    if explanation.file is not None:
        lines += _file(explanation.file)
    if explanation.line is not None:
        lines += _line(explanation.line)
    return "".join(f"{shown(line)}\n" for line in lines)


def _file(note: FileNote) -> Iterator[str]:
    yield from _events("computations", note.computations)
    yield from _events("host clusters", note.clusters)
    yield from _events("input pipelines", note.pipelines)
    yield "functions:"
    for lane in (*LANES, "not reached"):
        names = [
            f"{function.name} (line {function.row})"
            for function in note.functions
            if lane in (function.lanes or ("not reached",))
        ]
        if names:
            yield f"  {lane}: {', '.join(names)}"
    for function in note.functions:
        for why in function.left_out:
            yield f"  a call of {function.name} (line {function.row}) was not followed: {why}"
    yield "findings:"
    yield from (f"  {_rule(finding)}" for finding in note.findings)
    if not note.findings:
        yield "  none"


def _line(note: LineNote) -> Iterator[str]:
    yield f"line {note.row}: {note.source}"
    yield "contexts:"
    if not note.placed:
        yield "  not recorded: the analysis keeps no place of a statement of this kind"
    elif not note.contexts:
        yield "  none: no call that was read leads to this line"
    for number, reached in enumerate(note.contexts, 1):
        scopes = "".join(f", in {scope}" for scope in reached.scopes)
        muted = "" if reached.recorded else " (nothing is recorded here)"
        yield f"  {number}. {reached.lane}{scopes}{muted}"
        yield from (f"     {call.place} calls {call.name}" for call in reached.calls)
        for value in reached.values:
            yield f"     {value.name} = {value.value}"
            if value.lost:
                yield f"       lost at {value.lost}"
    if note.more:
        yield f"  ... and {note.more} more"
    yield from _events("events", note.events)
    yield "rules:"
    yield from (f"  {_rule(rule)}" for rule in note.rules if rule.state != NOTHING)
    idle = sum(rule.state == NOTHING for rule in note.rules)
    if idle:
        others = "the other" if idle < len(note.rules) else "all"
        yield f"  no event of their kind here: {others} {idle} rules"


def _events(title: str, events: tuple[EventNote, ...]) -> Iterator[str]:
    yield f"{title}:"
    for event in events:
        times = f" ({event.times} times)" if event.times > 1 else ""
        yield f"  {event.place.row}:{event.place.column} [{event.lane}] {event.text}{times}"
    if not events:
        yield "  none"


def _rule(rule: RuleNote) -> str:
    return f"{rule.code} {rule.name}: {rule.state}{rule.detail and f': {rule.detail}'}"
