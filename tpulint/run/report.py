"""The report of `tpulint run`: a table of what crossed between device and host, and the faults.

It is text, JSON, or a page with pictures. The text:

lane                     runs  round trips  bytes to host  bytes to device      ms
train.py:71, 10 steps, 1 compilation
  device                   20                                               18.204
  host cluster 0 (log)     20           20            160               80    3.410  train.py:53
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from tpulint.check.discover import shown
from tpulint.codes import CODES
from tpulint.disk import package_text
from tpulint.finding import DEVICE_LANE, HOST_LANE, Finding, Span
from tpulint.hardware import DEVICES
from tpulint.map.pictures import model
from tpulint.map.pictures.svg import FIGURE_STYLE, SVG_STYLE, figure
from tpulint.output import load
from tpulint.output.context import RenderContext
from tpulint.output.full import block
from tpulint.output.html import STYLE, article, page, prose
from tpulint.output.summary import count
from tpulint.output.text import flags, one_line
from tpulint.run.cost import UNKNOWN, StepCost, cost_lines, table
from tpulint.source import Source, UnreadableSource, read_source
from tpulint.storage.session import StorageUse

COLUMNS = ("lane", "runs", "round trips", "bytes to host", "bytes to device", "ms", "made at")
NOTE = (
    "Counts and bytes are those of a TPU; times are this CPU's. An emulator cannot judge how\n"
    "fast a TPU is, whether its memory suffices, or how it rounds."
)
FEEDS = ("infeed", "outfeed")
UNFINISHED = "Still running when the last step of their computation finished:"
MOST_LINES = 10
RECOMPILATION = "TPU509"
MEANT_COMPILATIONS = 8
"""As many settings of a program may be meant; the rule is silent about so many rounds, too."""
EMPTY = "No TPU computation ran to its end."


class Lane(NamedTuple):
    """The work of the device, of one host cluster or of a feed, over all steps and replicas.

    `place` is the user's line that made it ("file:line"). A run that gives something back to the
    device is a round trip: the device waits for it. `function` is the one sent to the host.
    """

    name: str
    place: str
    runs: int
    round_trips: int
    bytes_to_host: int
    bytes_to_device: int
    seconds: float
    function: str = ""


class UnfinishedLane(NamedTuple):
    """A host cluster or a feed that had not ended when the last step of its computation did."""

    name: str
    function: str
    place: str
    replicas: tuple[int, ...]

    def __str__(self) -> str:
        place = f", made at {self.place}" if self.place else ""
        return f"{title(self)} of replica {', '.join(map(str, self.replicas))}{place}"


def title(lane: Lane | UnfinishedLane) -> str:
    """Return the name of a lane, with that of its function."""
    return f"{lane.name} ({lane.function})" if lane.function else lane.name


class ComputationRun(NamedTuple):
    """`place` is the user's line that built it, `steps` how often it ran.

    `compilations` counts the programs that XLA compiled for it: one per shape or Python argument.
    `launches` are the calls from Python that the steps ran in; `input_bytes` what all of them took
    from the host when they began. `compile_seconds` are those of the first steps of the programs,
    `differing` says which arguments of the tf.function made another one necessary. Of the parts of
    the programs, XLA compiled `compiled_parts`; it only checked `checked_parts` (--compile never).
    """

    place: str
    steps: int
    lanes: tuple[Lane, ...]
    compilations: int = 1
    launches: int = 0
    input_bytes: int = 0
    unfinished: tuple[UnfinishedLane, ...] = ()
    compile_seconds: float = 0.0
    differing: tuple[str, ...] = ()
    compiled_parts: int = 0
    checked_parts: int = 0

    @property
    def programs(self) -> str:
        """Return how many device programs there were: one a compilation, where XLA compiled."""
        return count(self.compilations, "program" if self.checked_parts else "compilation")

    @property
    def way(self) -> str:
        """Return how the programs ran, if XLA has not compiled them."""
        if not self.checked_parts:
            return ""
        if not self.compiled_parts:
            return ", not compiled: XLA checked it, TensorFlow's kernels ran it"
        parts = f"{self.checked_parts} of {self.checked_parts + self.compiled_parts} parts"
        return f", {parts} not compiled: XLA checked them, TensorFlow's kernels ran them"


class HostReads(NamedTuple):
    """The values of the device that the line `place` has read on the host."""

    place: str
    number: int
    bytes: int


class RunFault(NamedTuple):
    """One fault of the run: the error's or warning's class, its rule and the user's line.

    `finding` is what `tpulint check` says of it, None where it is silent; `asked` is false where
    the analyzer has failed, so that its silence means nothing.
    """

    kind: str
    code: str
    place: str
    finding: Finding | None
    asked: bool = True


class Checked(NamedTuple):
    """The result of `tpulint check` for the files that ran.

    hidden: possible findings by code. hints: those of them that no run can show.
    """

    findings: tuple[Finding, ...]
    files: int
    hidden: Mapping[str, int]
    hints: tuple[Finding, ...] = ()


class FinishedRun(NamedTuple):
    """A run that has ended: `machine` is what was emulated, `status` the program's exit status."""

    program: str
    machine: str
    status: int
    seconds: float
    computations: tuple[ComputationRun, ...]
    faults: tuple[RunFault, ...]
    unfinished: tuple[UnfinishedLane, ...] = ()
    notes: tuple[str, ...] = ()
    checked: Checked | None = None
    storage: tuple[StorageUse, ...] = ()
    reads: tuple[HostReads, ...] = ()
    costs: tuple[StepCost, ...] = ()


def text(ran: FinishedRun, context: RenderContext) -> str:
    lines = [headline(ran), ""]
    lines += computation_table(ran.computations) if ran.computations else [EMPTY]
    lines += ["", *launch_lines(ran)] if ran.computations else []
    lines += ["", *costs_section(ran.costs)] if ran.costs else []
    lines += ["", NOTE] if ran.computations else []
    if ran.unfinished:
        lines += ["", UNFINISHED, *(f"  {lane}" for lane in ran.unfinished)]
    lines += ["", *storage_lines(ran)] if ran.storage else []
    lines += [f"\n{explained(fault, context)}" for fault in ran.faults]
    lines += [f"\n{note}" for note in ran.notes]
    lines += ["", *files_section(ran, ran.checked, context)] if ran.checked else []
    return "\n".join(lines) + "\n"


def costs_section(costs: Sequence[StepCost]) -> Iterator[str]:
    """Yield what a step of each computation costs on the device."""
    for cost in costs:
        yield from cost_lines(cost, DEVICES[cost.device])
        yield ""
    yield UNKNOWN


def launch_lines(ran: FinishedRun) -> Iterator[str]:
    """Yield what the host does in each step: its launches, its input, and what it reads."""
    for computation in ran.computations:
        steps = count(computation.steps, "step")
        taken = f"{computation.input_bytes / max(computation.steps, 1):,.0f} bytes of input"
        launches = count(computation.launches, "launch")
        yield f"{computation.place}: {steps} in {launches}, {taken} per step"
        if computation.compilations > 1:
            seconds, differing = computation.compile_seconds, "; ".join(computation.differing)
            line = f"  {computation.programs}, whose first steps took {seconds:.1f} s"
            line += f": {differing}" if differing else ""
            is_many = computation.compilations > MEANT_COMPILATIONS
            yield f"{line} [{RECOMPILATION} {CODES[RECOMPILATION].name}]" if is_many else line
    if ran.reads:
        number = sum(read.number for read in ran.reads)
        size = sum(read.bytes for read in ran.reads)
        yield f"{count(number, 'host read')} of values of the device, {size:,} bytes:"
    for read in ran.reads[:MOST_LINES]:
        yield f"  {read.place}: {count(read.number, 'read')}, {read.bytes:,} bytes"
    if len(ran.reads) > MOST_LINES:
        yield f"  ... and {len(ran.reads) - MOST_LINES} more lines"


def json_text(ran: FinishedRun, context: RenderContext) -> str:
    """Return the report as one JSON object; findings are those of `tpulint check`."""

    def items(findings: Sequence[Finding | None]) -> list[object]:
        present = [finding for finding in findings if finding is not None]
        return list(json.loads(load("json")(present, context)))

    faults = [
        fault._asdict() | {"finding": next(iter(items([fault.finding])), None)}
        for fault in ran.faults
    ]
    checked = ran.checked and ran.checked._asdict() | {"findings": items(ran.checked.findings)}
    written = plain(ran._replace(faults=(), checked=None))
    assert isinstance(written, dict)
    return json.dumps(written | {"faults": faults, "checked": checked}, indent=2) + "\n"


def plain(value: object) -> object:
    """Return `value` with dictionaries in the place of named tuples."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def storage_lines(ran: FinishedRun) -> Iterator[str]:
    """Yield a line for each bucket: what was read, what was written, and the steps that waited."""
    steps = sum(computation.steps for computation in ran.computations)
    for use in ran.storage:
        parts = [
            f"{verb} {count(objects, 'object')}, {size:,} bytes"
            for verb, objects, size in (
                ("read", use.objects_read, use.bytes_read),
                ("wrote", use.objects_written, use.bytes_written),
            )
            if objects
        ]
        if steps:
            time = f", {use.seconds_waited * 1e3:,.0f} ms" if use.steps_waited else ""
            parts.append(f"{use.steps_waited:,} of {count(steps, 'step')} waited for it{time}")
        yield f"gs://{use.bucket}: {'; '.join(parts)}"


def files_section(ran: FinishedRun, checked: Checked, context: RenderContext) -> list[str]:
    """Return the number of findings in the files that ran, and the first of them, a line each."""
    linked = {identity(fault.finding) for fault in ran.faults if fault.finding is not None}
    others = [finding for finding in checked.findings if identity(finding) not in linked]
    number, above = len(checked.findings), len(checked.findings) - len(others)
    files = "the file that ran" if checked.files == 1 else f"the {checked.files} files that ran"
    summary = {0: "nothing", 1: "1 finding"}.get(number, f"{number} findings")
    summary += f", {'' if above == number == 1 else f'{above} '}shown above" if above else ""
    if checked.hidden:
        rules = ", ".join(sorted(checked.hidden))
        summary += f", and {sum(checked.hidden.values())} possible ({rules})"
    lines = [f"`tpulint check` of {files}: {summary}"]
    for other in [*others[:MOST_LINES], *checked.hints[:MOST_LINES]]:
        place = one_line(context.short(other.span))
        lines.append(f"  {place}: {other.code} {flags(other)}{one_line(other.message)}")
    if len(others) > MOST_LINES:
        lines.append(f"  ... and {len(others) - MOST_LINES} more")
    return lines


def identity(finding: Finding) -> tuple[str, Span]:
    return finding.code, finding.span


def headline(ran: FinishedRun) -> str:
    ended = f"exit status {ran.status} after {ran.seconds:.1f} s"
    return f"tpulint run: {ran.program} on {ran.machine}: {ended}"


def explained(fault: RunFault, context: RenderContext) -> str:
    shown = f"\n\n{block(fault.finding, context).rstrip()}" if fault.finding else ""
    return verdict(fault) + shown


def verdict(fault: RunFault) -> str:
    """Return one line on a fault: what it was, where, and whether `tpulint check` knows of it."""
    where = f" at {fault.place}" if fault.place else ""
    start = f"{fault.kind}{where} [{fault.code} {CODES[fault.code].name}]: `tpulint check`"
    if fault.finding is not None:
        return f"{start} says"
    return f"{start} is silent there." if fault.asked else f"{start} could not be asked."


def computation_table(computations: Sequence[ComputationRun]) -> list[str]:
    """Return the lines of the table, with numbers at the right of their columns."""
    rows: list[tuple[str, ...] | str] = [COLUMNS]
    for computation in computations:
        rows.append(headed(computation))
        rows += [("  " + row[0], *row[1:]) for row in cells(computation)]
    return table(rows)


def headed(computation: ComputationRun) -> str:
    steps = count(computation.steps, "step")
    return f"{computation.place}, {steps}, {computation.programs}{computation.way}"


def cells(computation: ComputationRun) -> Iterator[tuple[str, ...]]:
    for lane in computation.lanes:
        is_device = lane.name == "device"
        trips = "" if is_device or lane.name in FEEDS else f"{lane.round_trips:,}"
        sizes = ["" if is_device else f"{n:,}" for n in (lane.bytes_to_host, lane.bytes_to_device)]
        milliseconds = f"{lane.seconds * 1e3:,.1f}"
        yield (title(lane), f"{lane.runs:,}", trips, *sizes, milliseconds, lane.place)


def shown_place(place: str) -> str:
    """Return `path:row`; in a notebook `path:cell n:row`, as `tpulint check` names it."""
    filename, colon, row = place.rpartition(":")
    if not filename:
        return place
    source = notebook_source(filename) if filename.endswith(".ipynb") else None
    if source is not None and row.isdecimal():
        cell, inside = source.place(int(row))
        row = f"cell {cell}:{inside}" if cell is not None else row
    return f"{shown(filename)}{colon}{row}"


@lru_cache(maxsize=1)
def notebook_source(filename: str) -> Source | None:
    """Return the notebook; None where it cannot be read any more."""
    try:
        return read_source(filename)
    except UnreadableSource:
        return None


MOST_PICTURES = 12
COUNTS = package_text(__file__, "counts.css")


def html(ran: FinishedRun, context: RenderContext) -> str:
    """Return the report as a page that needs nothing else."""
    parts = [f"<p>{escape(headline(ran))}</p>\n"]
    if ran.computations:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = "".join(html_rows(ran.computations))
        counts = f'<table class="counts">\n<tr class="names">{head}</tr>\n{rows}</table>'
        parts.append(f'<div class="wide">{counts}</div>\n<p>{NOTE}</p>\n')
        parts.append(html_list(launch_lines(ran)))
        if ran.costs:
            shown = "\n".join(costs_section(ran.costs))
            parts.append(f'<div class="wide"><pre>{escape(shown)}</pre></div>\n')
        parts += pictures(ran.computations, context)
    else:
        parts.append(f"<p>{EMPTY}</p>\n")
    if ran.unfinished:
        parts += [f"<p>{UNFINISHED}</p>\n", html_list(map(str, ran.unfinished))]
    if ran.storage:
        parts.append(html_list(storage_lines(ran)))
    for number, fault in enumerate(ran.faults):
        parts.append(f"<p>{prose(verdict(fault))}</p>\n")
        parts += [article(fault.finding, context, f"f{number}")] if fault.finding else []
    parts += [f"<p>{prose(note)}</p>\n" for note in ran.notes]
    if ran.checked:
        summary, *lines = files_section(ran, ran.checked, context)
        parts += [f"<p>{prose(summary)}</p>\n", html_list(lines)]
    return page("tpulint run", "".join(parts), STYLE + COUNTS + FIGURE_STYLE + SVG_STYLE)


def html_list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line.strip())}</li>\n" for line in lines)
    return f"<ul>\n{items}</ul>\n"


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
    for number, computation in enumerate(computations[:MOST_PICTURES]):
        yield f"<h2>{escape(headed(computation))}</h2>\n"
        yield figure(map_of_run(computation), context, f"m{number}")
    if len(computations) > MOST_PICTURES:
        yield f"<p>{len(computations) - MOST_PICTURES} more computations have no picture.</p>\n"


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
        taken = (_bytes(lane.bytes_to_device),)
        nodes.append(_host(key, model.INPUT, lane))
        edges.append(model.MapEdge(key, DEVICE, model.SENDS, taken, _runs(lane)))
    lines = (model.Line(_runs(device)),) if device is not None else ()
    nodes.append(model.MapNode(DEVICE, DEVICE_LANE, "segment", "device program", None, lines))
    before = DEVICE
    for number, lane in enumerate(other for other in others if other.name != INFEED):
        call, key = f"call {number}", f"host {number}"
        kind = model.OUTFED if lane.name == OUTFEED else model.CLUSTER
        nodes += [model.MapNode(call, DEVICE_LANE, model.CALL, _call(lane)), _host(key, kind, lane)]
        edges.append(model.MapEdge(before, call, model.THEN))
        before = call
        sent = (_bytes(lane.bytes_to_host),)
        edges.append(model.MapEdge(call, key, model.SENDS, sent, _runs(lane)))
        if lane.round_trips:
            back = (_bytes(lane.bytes_to_device),)
            trips = count(lane.round_trips, "round trip")
            edges.append(model.MapEdge(key, call, model.RETURNS, back, trips))
    ended = {lane.name for lane in ran.lanes}
    for number, stuck in enumerate(lane for lane in ran.unfinished if lane.name not in ended):
        call, key = f"waiting call {number}", f"unfinished {number}"
        state = (model.Line("has not ended"), *_made_at(stuck.place))
        nodes.append(model.MapNode(call, DEVICE_LANE, model.CALL, f"calls {title(stuck)}"))
        nodes.append(model.MapNode(key, HOST_LANE, model.CLUSTER, title(stuck), None, state))
        edges.append(model.MapEdge(before, call, model.THEN))
        edges.append(model.MapEdge(call, key, model.SENDS))
        before = call
    return model.ComputationMap(headed(ran), None, nodes=tuple(nodes), edges=tuple(edges))


def _host(key: str, kind: str, lane: Lane) -> model.MapNode:
    return model.MapNode(key, HOST_LANE, kind, title(lane), None, _made_at(lane.place))


def _made_at(place: str) -> tuple[model.Line, ...]:
    return (model.Line(f"made at {place}"),) if place else ()


def _call(lane: Lane) -> str:
    if lane.name == OUTFEED:
        return "enqueues to the outfeed; nothing waits"
    return f"{'waits' if lane.round_trips else 'does not wait'} for {title(lane)}"


def _runs(lane: Lane) -> str:
    return f"{count(lane.runs, 'run')} in {lane.seconds * 1e3:,.1f} ms"


def _bytes(number: int) -> model.Crossing:
    return model.Crossing(f"{number:,} B in all")
