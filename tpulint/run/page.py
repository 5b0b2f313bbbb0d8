"""The report of `tpulint run` as a page that needs nothing else, with a picture of what crossed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.map.pictures import model
from tpulint.map.pictures.svg import FIGURE_STYLE, SVG_STYLE, figure
from tpulint.output.context import RenderContext
from tpulint.output.html import STYLE, article, page, prose
from tpulint.run.report import (
    COLUMNS,
    EMPTY,
    FEEDS,
    NOTE,
    UNFINISHED,
    ComputationRun,
    FinishedRun,
    Lane,
    cells,
    costs_section,
    files_section,
    headed,
    headline,
    launch_lines,
    storage_lines,
    verdict,
)

MOST = 12  # computations that have a picture
COUNTS = """.wide { overflow-x: auto; }
.counts td, .counts .names th { white-space: nowrap; }
.counts td:not(:first-child):not(:last-child) { text-align: right; }
.counts .names th:not(:first-child):not(:last-child) { text-align: right; }
.counts [colspan] { padding-top: .8rem; }
@media (max-width: 700px) {
  .counts, .counts tbody, .counts tr, .counts td, .counts [colspan] { display: block; }
  .counts .names, .counts .empty { display: none; }
  .counts td, .counts [colspan] { white-space: normal; overflow-wrap: anywhere; }
  .counts td:not(:first-child):not(:last-child) { text-align: left; }
  .counts td:not(:first-child)::before { content: attr(data-column) ": "; opacity: .7; }
  .counts td:first-child { font-weight: bold; }
}
"""


def html(ran: FinishedRun, context: RenderContext) -> str:
    """Return the report as a page that needs nothing else."""
    parts = [f"<p>{escape(headline(ran))}</p>\n"]
    if ran.computations:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = "".join(html_rows(ran.computations))
        counts = f'<table class="counts">\n<tr class="names">{head}</tr>\n{rows}</table>'
        parts.append(f'<div class="wide">{counts}</div>\n<p>{NOTE}</p>\n')
        rows = "".join(f"<li>{escape(line.strip())}</li>\n" for line in launch_lines(ran))
        parts.append(f"<ul>\n{rows}</ul>\n")
        if ran.costs:
            shown = "\n".join(costs_section(ran.costs))
            parts.append(f'<div class="wide"><pre>{escape(shown)}</pre></div>\n')
        parts += pictures(ran.computations, context)
    else:
        parts.append(f"<p>{EMPTY}</p>\n")
    if ran.unfinished:
        rows = "".join(f"<li>{escape(str(lane))}</li>\n" for lane in ran.unfinished)
        parts.append(f"<p>{UNFINISHED}</p>\n<ul>\n{rows}</ul>\n")
    if ran.storage:
        rows = "".join(f"<li>{escape(line)}</li>\n" for line in storage_lines(ran))
        parts.append(f"<ul>\n{rows}</ul>\n")
    for number, fault in enumerate(ran.faults):
        parts.append(f"<p>{prose(verdict(fault))}</p>\n")
        parts += [article(fault.finding, context, f"f{number}")] if fault.finding else []
    parts += [f"<p>{prose(note)}</p>\n" for note in ran.notes]
    if ran.checked:
        said, *lines = files_section(ran, ran.checked, context)
        rows = "".join(f"<li>{escape(line.strip())}</li>\n" for line in lines)
        parts.append(f"<p>{prose(said)}</p>\n<ul>\n{rows}</ul>\n")
    return page("tpulint run", "".join(parts), STYLE + COUNTS + FIGURE_STYLE + SVG_STYLE)


def html_rows(computations: Sequence[ComputationRun]) -> Iterator[str]:
    for computation in computations:
        yield f'<tr><th colspan="{len(COLUMNS)}">{escape(headed(computation))}</th></tr>\n'
        for row in cells(computation):
            named = zip(COLUMNS, row, strict=True)
            yield "<tr>" + "".join(cell_of(name, cell) for name, cell in named) + "</tr>\n"


def cell_of(column: str, text: str) -> str:
    """Return a cell that names its column, for a page too narrow for the names above."""
    empty = "" if text else ' class="empty"'
    return f'<td data-column="{escape(column)}"{empty}>{escape(text)}</td>'


def pictures(computations: Sequence[ComputationRun], context: RenderContext) -> Iterator[str]:
    """Yield the lanes of each computation, with what went from one to the other."""
    for number, computation in enumerate(computations[:MOST]):
        yield f"<h2>{escape(headed(computation))}</h2>\n"
        yield figure(map_of_run(computation), context, f"m{number}")
    if len(computations) > MOST:
        yield f"<p>{len(computations) - MOST} more computations have no picture.</p>\n"


DEVICE = "device"
INFEED, OUTFEED = FEEDS


def map_of_run(ran: ComputationRun) -> model.ComputationMap:
    """Return the picture of all steps of a computation together."""
    nodes: list[model.MapNode] = []
    edges: list[model.MapEdge] = []
    device = next((lane for lane in ran.lanes if lane.name == DEVICE), None)
    others = [lane for lane in ran.lanes if lane is not device]
    for number, lane in enumerate(other for other in others if other.name == INFEED):
        key = f"input {number}"
        nodes.append(_host(key, model.INPUT, lane))
        edges.append(
            model.MapEdge(key, DEVICE, model.SENDS, (_bytes(lane.bytes_to_device),), _runs(lane))
        )
    lines = (model.Line(_runs(device)),) if device is not None else ()
    nodes.append(model.MapNode(DEVICE, DEVICE_LANE, "segment", "device program", None, lines))
    before = DEVICE
    for number, lane in enumerate(other for other in others if other.name != INFEED):
        call, key = f"call {number}", f"host {number}"
        kind = model.OUTFED if lane.name == OUTFEED else model.CLUSTER
        nodes += [model.MapNode(call, DEVICE_LANE, model.CALL, _call(lane)), _host(key, kind, lane)]
        edges.append(model.MapEdge(before, call, model.THEN))
        before = call
        edges.append(
            model.MapEdge(call, key, model.SENDS, (_bytes(lane.bytes_to_host),), _runs(lane))
        )
        if lane.round_trips:
            back = (_bytes(lane.bytes_to_device),)
            edges.append(
                model.MapEdge(
                    key, call, model.RETURNS, back, _times(lane.round_trips, "round trip")
                )
            )
    ended = {lane.name for lane in ran.lanes}
    for number, stuck in enumerate(lane for lane in ran.unfinished if lane.name not in ended):
        call, key = f"waiting call {number}", f"unfinished {number}"
        state = (model.Line("has not ended"), *_made_at(stuck.place))
        nodes.append(model.MapNode(call, DEVICE_LANE, model.CALL, f"calls {stuck.title}"))
        nodes.append(model.MapNode(key, HOST_LANE, model.CLUSTER, stuck.title, None, state))
        edges.append(model.MapEdge(before, call, model.THEN))
        edges.append(model.MapEdge(call, key, model.SENDS))
        before = call
    return model.ComputationMap(headed(ran), None, nodes=tuple(nodes), edges=tuple(edges))


def _host(key: str, kind: str, lane: Lane) -> model.MapNode:
    return model.MapNode(key, HOST_LANE, kind, lane.title, None, _made_at(lane.place))


def _made_at(place: str) -> tuple[model.Line, ...]:
    return (model.Line(f"made at {place}"),) if place else ()


def _call(lane: Lane) -> str:
    if lane.name == OUTFEED:
        return "enqueues to the outfeed; nothing waits"
    if lane.round_trips:
        return f"waits for {lane.title}"
    return f"does not wait for {lane.title}"


def _runs(lane: Lane) -> str:
    return f"{_times(lane.runs, 'run')} in {lane.seconds * 1e3:,.1f} ms"


def _times(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _bytes(number: int) -> model.Crossing:
    return model.Crossing(f"{number:,} B in all")
