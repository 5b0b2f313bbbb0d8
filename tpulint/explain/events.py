"""The events at some rows of a file, the values there, and how the interpreter gets there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property

from tpulint.absint.domain.events import (
    Access,
    ApiCall,
    Cluster,
    Computation,
    Context,
    ContextChange,
    Dependencies,
    Effect,
    Use,
)
from tpulint.absint.domain.objects import ExternalObject, Function, Instance
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Opaque, Value
from tpulint.absint.interpreter.frame import Frame
from tpulint.check.analysis import RuleResult
from tpulint.check.request import Request
from tpulint.check.resolve import is_shown, new_findings
from tpulint.codes import CODES
from tpulint.diagnostics.resolve import ignored
from tpulint.diagnostics.suppress import read_comments
from tpulint.explain.explanation import (
    NOTHING,
    CallNote,
    EventNote,
    Named,
    PlaceNote,
    Reached,
    RuleNote,
)
from tpulint.explain.losses import Losses
from tpulint.finding import Certainty, Finding
from tpulint.frontends.tensorflow.program import Program
from tpulint.ordering import Truth
from tpulint.queries.happens_before import HappensBefore
from tpulint.source import Source
from tpulint.syntax.nodes import Statement, place_of

# Record how the interpreter reaches one file, and the values at one statement of it.

LONGEST = 100  # characters of a value


class Recorder:
    """An observer of the file at `path`, and of the statement in `rows`, where `names` are.

    By the rows of the functions of the file, lanes are those that they are called in, and left_out
    says why calls of them were.
    """

    def __init__(self, path: str, rows: range, names: Sequence[str]) -> None:
        self.losses = Losses()
        self.path = path
        self.rows = rows
        self.names = names
        self.lanes: defaultdict[int, set[str]] = defaultdict(set)
        self.left_out: defaultdict[int, set[str]] = defaultdict(set)
        self.reached: dict[tuple[object, ...], Reached] = {}
        self.calls: Counter[tuple[PlaceNote, str, str]] = Counter()  # of functions of the project
        self.skipped_calls: set[str] = set()  # names of the file that were called, and it not read
        self._at_rows: dict[int, tuple[Statement, bool]] = {}

    def called(self, frame: Frame, function: Function, followed: bool) -> None:
        # What the session passed by is known when a program has been read.
        passed_by = frame.session.skipped_calls
        self.skipped_calls = {name for path, name in passed_by if path == self.path}
        if frame.module.path == self.path and self.rows and self._is_asked_for(frame):
            self._record_call(frame, function, followed)
        if function.module.path != self.path:
            return
        row = _row(Site(function.module, function.code.place))
        if followed:
            self.lanes[row].add(frame.context.lane)
        else:
            self.left_out[row].update(frame.session.reasons(function))

    def read(self, frame: Frame, statement: Statement, context: Context) -> None:
        if frame.module.path != self.path or not self.rows:
            return
        code = frame.function.code if frame.function is not None else None
        begins = code is not None and code.body and statement is code.body[0]
        if self._is_asked_for(frame, statement) or (
            begins and code is not None and _row(frame.module.site(code.place)) in self.rows
        ):
            self._record(frame, context)

    def _is_asked_for(self, frame: Frame, statement: Statement | None = None) -> bool:
        """Return whether the statement, by default the one that is being read, is in the rows."""
        statement = statement or frame.statement
        at_rows = self._at_rows.get(id(statement))
        if at_rows is None:
            place = place_of(statement)
            is_at_rows = place >= 0 and _row(frame.module.site(place)) in self.rows
            at_rows = self._at_rows[id(statement)] = (statement, is_at_rows)  # keeps the id taken
        return at_rows[1]

    def _record_call(self, frame: Frame, function: Function, followed: bool) -> None:
        code = Site(function.module, function.code.place)
        where = f"{code.span.filename}:{_row(code)}"
        outcome = "followed" if followed else "not followed"
        reasons = [] if followed else frame.session.reasons(function)
        text = f"call of {function.name or 'a lambda'} ({where}): {', '.join([outcome, *reasons])}"
        self.calls[place_at(frame.site(-1)), frame.context.lane, text] += 1

    def events(self) -> list[EventNote]:
        """Return the calls of functions of the project at the statement."""
        return [EventNote(*key, times) for key, times in self.calls.items()]

    def _record(self, frame: Frame, context: Context) -> None:
        chain = tuple(step.site for step in context.call_chain)
        around = tuple((scope.kind, scope.site) for scope in context.scopes)
        values = [(name, _value(frame, name)) for name in self.names]
        self.reached[chain, around, context.is_unrecorded] = Reached(
            context.lane,
            tuple(map(repr, context.inner_scopes)),
            tuple(CallNote(place_at(step.site), step.name) for step in context.call_chain),
            tuple(
                Named(name, _words(value), str(self.losses.of(frame, name, value) or ""))
                for name, value in values
                if value is not None
            ),
            not context.is_unrecorded,
        )


def place_at(site: Site) -> PlaceNote:
    span = site.span
    return PlaceNote(span.filename, span.start.row, span.start.column)


def _row(site: Site) -> int:
    return site.span.start.row


def _words(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _value(frame: Frame, dotted: str) -> Value | None:
    """Return the value of a dotted name as far as it is known; nothing is read for it."""
    first, *rest = dotted.split(".")
    env = frame.env
    while first not in env.names and env.outer is not None:
        env = env.outer
    env = env if first in env.names else frame.session.module_env(frame.module)
    value = env.names.get(first)
    for name in rest:
        match value:
            case Instance():
                value = value.attributes.get(name, value.cls.names.get(name))
            case ExternalObject():
                value = value.attributes.get(name)
            case Opaque():
                value = value.children.get(name)
            case _:
                return None
    return value


# The events of a program at some rows of a file, in words.

Recorded = (
    Access | ApiCall | Cluster | Computation | ContextChange | Dependencies | Effect | Feed | Use
)


def events_in(program: Program, path: str, rows: range | None = None) -> list[Recorded]:
    """Return the events of the file at `path` that begin in `rows`, None for all rows."""
    return [
        event
        for event in _all(program)
        if event.site.module.path == path
        if rows is None or event.site.span.start.row in rows
    ]


def _all(program: Program) -> Iterator[Recorded]:
    yield from program.feeds
    yield from program.orphan_clusters
    yield from program.accesses
    yield from program.calls
    yield from program.uses
    for computation in program.computations:
        yield computation
        yield from computation.clusters
        yield from computation.accesses
        yield from computation.calls
        yield from computation.uses
        yield from computation.dependencies
        yield from computation.context_changes
        yield from computation.effects


def in_words(events: Iterable[Recorded]) -> tuple[EventNote, ...]:
    """Return the events in words, equal ones together, by place."""
    counted = Counter(
        (place_at(event.site), event.context.lane, describe(event)) for event in events
    )
    return by_place(EventNote(*key, times) for key, times in counted.items())


def by_place(events: Iterable[EventNote]) -> tuple[EventNote, ...]:
    return tuple(
        sorted(events, key=lambda line: (line.place.row, line.place.column, line.lane, line.text))
    )


def short(event: Recorded) -> str:
    """Return what the event is."""
    match event:
        case Computation():
            return f"{event.kind} builds a TPU computation of {event.callee!r}"
        case Cluster():
            return f"{event.kind} opens a host cluster of {event.callee!r}"
        case Access():
            return f"{event.mode} of {event.variable!r} by {event.how}"
        case ApiCall():
            return f"call of {event.path}"
        case Use():
            return f"{event.tensor!r} is taken by {event.taker}"
        case Effect(kind="asks", name="for"):
            return "Python takes the items of a tensor"
        case Effect(kind="asks"):
            return f"`{event.name}` tests a tensor"
        case Effect(kind="formats"):
            return f"{event.name} formats a tensor"
        case Effect():
            return f"{event.name} {event.kind} something once, when the program is traced"
        case ContextChange():
            return f"{event.change} of a context by hand: {event.effect}"
        case Dependencies():
            return f"control_dependencies around {event.operations} operations"
        case Feed():
            return f"{event.kind} feeds {event.owner!r} from {event.data!r}"


def describe(event: Recorded) -> str:
    """Return what the event is, with what is known of it."""
    details = ""
    match event:
        case Computation(certainty=Certainty.POSSIBLE):
            details = ", possibly not a TPU's"
        case Cluster(computation=None):
            details = ", outside every TPU computation"
        case Cluster(computation=Computation() as computation):
            waits = HappensBefore(computation).waits_for(event)
            details = "; nothing waits for it"
            if waits is not Truth.NO:
                details = f"; the device {'waits' if waits is Truth.YES else 'may wait'} for it"
        case ApiCall():
            details = f" -> {event.result!r}"
        case Use(certainty=Certainty.POSSIBLE):
            details = ", possibly"
    return f"{short(event)}{details}"


# The result of each rule at some rows: the events it looked at, and the reason it is silent.

# Record which rules look at which of some events while they run.
#
# The events take a class that notes who reads their attributes; it is made for them alone, so
# that a check, which asks for none of this, pays nothing.

# Attributes that only say of which kind an event is, and where: a rule reads these of all.
KIND = frozenset(
    ["path", "last", "kind", "mode", "how", "taker", "site", "change", "effect", "context"]
)
# The lists of a computation: a rule that asks for calls goes through those of every computation.
LISTS = KIND | frozenset(
    field.name for field in fields(Computation) if field.type.startswith("list[")
)


class Looks:
    """The rules' findings in a program, the events that they read, and the rules that failed."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.failures: dict[str, str] = {}
        self._read: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)

    def run(
        self, program: Program, results: Iterable[RuleResult], events: Iterable[Recorded]
    ) -> None:
        """Take the results of the rules on `program`, each of which runs when it is taken."""
        for name, item in vars(Program).items():
            if isinstance(item, cached_property):  # else only the rule that asks first would look
                getattr(program, name)
        noted: dict[str, set[str]] = defaultdict(set)
        for event in events:
            if not isinstance(event, tuple):
                passed_over = LISTS if isinstance(event, Computation) else KIND
                _watch(event, noted[short(event)], passed_over)
        for result in results:
            self.findings += result.findings
            if result.failure is not None:
                self.failures[result.code] = result.failure.error
            for text, names in noted.items():
                if names:
                    self._read[result.code].setdefault(text, set()).update(names)
                    names.clear()

    def silence(self, code: str) -> tuple[str, str]:
        """Return the state of a rule without a finding, and what it looked at, in words."""
        if code in self.failures:
            return "failed", self.failures[code]
        looked = [
            f"{text} ({', '.join(sorted(names))})" for text, names in self._read[code].items()
        ]
        return ("silent", f"it looked at {'; '.join(looked)}") if looked else (NOTHING, "")


def _watch(event: Recorded, noted: set[str], passed_over: frozenset[str]) -> None:
    """Let `event` note the names of its attributes that are read from now on, but some."""
    plain = type(event)

    def noting(self: object, name: str) -> object:
        if not name.startswith("_") and name not in passed_over:
            noted.add(name)
        return plain.__getattribute__(self, name)

    watched = type(plain.__name__, (plain,), {"__slots__": (), "__getattribute__": noting})
    object.__setattr__(event, "__class__", watched)


# Say what became of each rule at some rows, and of each finding.


class Resolution:
    """The decisions of a check about the findings in one file, with their reasons."""

    def __init__(self, request: Request, source: Source) -> None:
        self.request = request
        self.source = source
        self.filename = source.filename
        self.ignored = ignored(request.config_of(self.filename), self.filename)
        self.comments = read_comments(source, request.noqa)

    def state(self, finding: Finding) -> str:
        """Return "reported", or why a check does not report the finding."""
        if finding.span.filename != self.filename:
            return "reported elsewhere, through this line"
        if finding.code not in self.request.codes_of(self.filename):
            return "not selected"
        if finding.code in self.ignored:
            return "ignored in this file (per-file-ignores)"
        if self.comments.suppress(finding):
            return "suppressed by a comment"
        if not is_shown(finding, self.request):
            doubt = finding.certainty.value
            return f"{doubt} and hidden (--certainty {doubt} shows it)"
        sources = {self.filename: self.source}
        new, _ = new_findings([finding], [self.filename], self.request, sources)
        if not new:
            return "in the baseline"
        if finding.certainty is Certainty.DEFINITE:
            return "reported"
        return f"reported as {finding.certainty.value}"

    def note(self, finding: Finding) -> RuleNote:
        start = finding.span.start
        text = f"{finding.span.filename}:{start.row}:{start.column}: {finding.message}"
        return RuleNote(
            finding.code, CODES[finding.code].name, self.state(finding), " ".join(text.split())
        )

    def in_file(self, findings: Sequence[Finding]) -> tuple[RuleNote, ...]:
        """Return what became of the findings in the file, by place."""
        here = sorted(
            {finding for finding in findings if finding.span.filename == self.filename},
            key=lambda finding: (finding.span, finding.code),
        )
        return tuple(self.note(finding) for finding in here)

    def at(self, rows: range, looks: Looks) -> tuple[RuleNote, ...]:
        """Return what became of each rule at `rows`: its findings there, else why there is none."""
        notes: list[RuleNote] = []
        at_rows = {finding for finding in looks.findings if self._is_at(finding, rows)}
        for code, row in CODES.items():
            here = [finding for finding in at_rows if finding.code == code]
            notes += map(self.note, sorted(here, key=lambda finding: finding.span))
            if not here:
                notes.append(RuleNote(code, row.name, *looks.silence(code)))
        return tuple(notes)

    def _is_at(self, finding: Finding, rows: range) -> bool:
        """Return whether the finding, or a step of its trace, is at one of the rows."""
        spans = [finding.span, *(step.span for step in finding.trace)]
        return any(span.filename == self.filename and span.start.row in rows for span in spans)
