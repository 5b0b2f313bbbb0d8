"""The events of a program at some rows of a file, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tpulint.analysis.domain.events import (
    Access,
    ApiCall,
    Cluster,
    Computation,
    ContextChange,
    Dependencies,
    Effect,
    Use,
)
from tpulint.analysis.domain.program import Feed, Program
from tpulint.finding import Certainty
from tpulint.output.explanation import EventNote
from tpulint.pipeline.explain.recorder import place_at
from tpulint.queries.happens_before import HappensBefore

Recorded = (
    Access | ApiCall | Cluster | Computation | ContextChange | Dependencies | Effect | Feed | Use
)


def events_in(program: Program, path: str, rows: range | None = None) -> list[Recorded]:
    """Return the events of the file at `path` that begin in `rows`, None for all rows."""
    return [
        each
        for each in _all(program)
        if each.site.module.path == path
        if rows is None or each.site.span.start.row in rows
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
    counted = Counter((place_at(each.site), each.context.lane, words(each)) for each in events)
    return by_place(EventNote(*key, times) for key, times in counted.items())


def by_place(events: Iterable[EventNote]) -> tuple[EventNote, ...]:
    return tuple(
        sorted(events, key=lambda each: (each.place.row, each.place.column, each.lane, each.text))
    )


def words(event: Recorded) -> str:
    """Return what the event is, with what is known of it."""
    return f"{short(event)}{_details(event)}"


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
        case Effect(kind="asks"):
            return f"`{event.name}` tests a tensor"
        case Effect():
            return f"{event.name} {event.kind} something once, when the program is traced"
        case ContextChange():
            return f"{event.change} of a context by hand: {event.effect}"
        case Dependencies():
            return f"control_dependencies around {event.operations} operations"
        case Feed():
            return f"{event.kind} feeds {event.owner!r} from {event.data!r}"


def _details(event: Recorded) -> str:
    match event:
        case Computation(certainty=Certainty.POSSIBLE):
            return ", possibly not a TPU's"
        case Cluster():
            return _waiting(event)
        case ApiCall():
            return f" -> {event.result!r}"
        case Use(certainty=Certainty.POSSIBLE):
            return ", possibly"
        case _:
            return ""


def _waiting(cluster: Cluster) -> str:
    if cluster.computation is None:
        return ", outside every TPU computation"
    waits = HappensBefore(cluster.computation).waits_for(cluster)
    if waits is None:
        return "; nothing waits for it"
    return f"; the device {'waits' if waits else 'may wait'} for it"
