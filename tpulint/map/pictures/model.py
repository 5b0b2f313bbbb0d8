"""The map as plain data: what runs where, what crosses, who touches which variable, what waits.

Two lanes, time running down. A node is a box in one of them; what the device program does between
two host clusters is one node, a segment. A host cluster is opposite the node of the call that sends
it to the host. Keys of nodes, regions and variables are unique in a computation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tpulint.absint.domain.site import shared_length
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Span
from tpulint.output.context import RenderContext

# The kinds of node.
ENTRY = "entry"  # the call that builds the computation, on the host
INPUT = "input"  # an input pipeline, on the host
SEGMENT = "segment"  # what the device does between two calls of host clusters
CALL = "call"  # the device calls a host cluster
CLUSTER = "cluster"  # what runs on the host
OUTFED = "outfed"  # what runs on the host after the step, from the outfeed

# The kinds of edge.
THEN = "then"  # the device goes on
SENDS = "sends"  # tensors go from the device to the host, or into the computation
RETURNS = "returns"  # tensors come back, or the device waits for the end alone
NESTED = "nested"  # a host cluster opens another


UNITS = ("KiB", "MiB", "GiB")


@dataclass(frozen=True)
class Line:
    """One line of a box: a name, its place, and what there is to say of it."""

    text: str
    span: Span | None = None
    detail: str = ""


@dataclass(frozen=True)
class MapNode:
    """A box of a lane. regions: around it, outermost first. times: how often it is read.

    more: lines that are left out.
    """

    key: str
    lane: str
    kind: str
    title: str
    span: Span | None = None
    lines: tuple[Line, ...] = ()
    regions: tuple[str, ...] = ()
    times: int = 1
    more: int = 0


@dataclass(frozen=True)
class MapRegion:
    """A body of control flow: a branch or a loop of the device, or a loop of Python."""

    key: str
    title: str
    span: Span | None


@dataclass(frozen=True)
class Crossing:
    """A tensor that crosses between device and host, its dtype and shape as far as known.

    bytes: None where they are not known.
    """

    name: str
    tensor: str = ""
    bytes: int | None = None


@dataclass(frozen=True)
class MapEdge:
    """From node to node. label: words beside the crossings. alarm: part of a cycle."""

    source: str
    target: str
    kind: str
    crossings: tuple[Crossing, ...] = ()
    label: str = ""
    alarm: bool = False


@dataclass(frozen=True)
class MapTouch:
    """A node reads or writes a variable at `span`, `times` times; `how` is the method or op."""

    node: str
    lane: str
    mode: str
    how: str
    span: Span
    times: int = 1


@dataclass(frozen=True)
class MapVariable:
    """A variable, by whom it is touched, and how many touches are left out."""

    key: str
    name: str
    sort: str
    span: Span | None
    touches: tuple[MapTouch, ...]
    more: int = 0


@dataclass(frozen=True)
class MapWait:
    """A leg of a cycle: `source` cannot go on before `target`, in words, and where."""

    source: str
    target: str
    lane: str
    text: str
    span: Span | None


@dataclass(frozen=True)
class Cycle:
    """Waits that close where they began. variable: the key of what is held."""

    variable: str
    certainty: Certainty
    waits: tuple[MapWait, ...]


@dataclass(frozen=True)
class ComputationMap:
    """The picture of one computation. left_out: what is not in it, a line each."""

    title: str
    span: Span | None
    notes: tuple[str, ...] = ()
    nodes: tuple[MapNode, ...] = ()
    regions: tuple[MapRegion, ...] = ()
    edges: tuple[MapEdge, ...] = ()
    variables: tuple[MapVariable, ...] = ()
    cycles: tuple[Cycle, ...] = ()
    left_out: tuple[str, ...] = ()

    @cached_property
    def alarmed(self) -> frozenset[str]:
        """The keys of the nodes and variables in a cycle."""
        return frozenset(wait.source for cycle in self.cycles for wait in cycle.waits)

    def edge(self, source: str, target: str) -> MapEdge | None:
        """Return the edge between two nodes, None where there is none."""
        return next((e for e in self.edges if (e.source, e.target) == (source, target)), None)


@dataclass(frozen=True)
class ProgramMap:
    """The map of a file, or of what goes through one of its functions."""

    subject: str
    computations: tuple[ComputationMap, ...]
    left_out: tuple[str, ...] = ()


def size_in_words(number: int) -> str:
    """Return `12 B`, `4.0 KiB`, `1.5 MiB`."""
    if number < 1024:
        return f"{number} B"
    power = min((number.bit_length() - 1) // 10, len(UNITS))
    return f"{number / 1024**power:.1f} {UNITS[power - 1]}"


# The boxes of a picture row by row, and the words that all of its formats share.

MOST = 5  # tensors on an arrow


@dataclass(frozen=True)
class BoxRow:
    """A box of the device, one of the host, or a call and its cluster, with what crosses."""

    device: MapNode | None
    host: MapNode | None
    sends: MapEdge | None = None
    returns: MapEdge | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        node = self.device or self.host
        return node.regions if node is not None else ()


def rows(drawn: ComputationMap) -> Iterator[BoxRow]:
    hosts = {node.key: node for node in drawn.nodes if node.lane == HOST_LANE}
    edges = {edge.source: edge for edge in drawn.edges if edge.kind == SENDS}
    paired: set[str] = set()
    for node in drawn.nodes:
        sends = edges.get(node.key)
        if node.lane == DEVICE_LANE:
            sends = sends if node.kind == CALL else None
            host = hosts.get(sends.target) if sends is not None else None
            returns = drawn.edge(host.key, node.key) if host is not None else None
            if host is not None:
                paired.add(host.key)
            yield BoxRow(node, host, sends, returns)
        elif node.key not in paired:
            yield BoxRow(None, node, sends)


Item = TypeVar("Item", bound=BoxRow | MapNode)


def in_regions(
    drawn: ComputationMap, items: Iterable[Item]
) -> Iterator[tuple[int, list[MapRegion], Item | None]]:
    """Yield how many regions end before each item, those that begin, and the item; None last."""
    titles = {region.key: region for region in drawn.regions}
    before: tuple[str, ...] = ()
    for item in (*items, None):
        now = item.regions if item is not None else ()
        shared = shared_length(before, now)
        yield len(before) - shared, [titles[key] for key in now[shared:]], item
        before = now


@dataclass(frozen=True)
class Said:
    """A line for a box, before it is placed."""

    text: str
    style: str = ""
    span: Span | None = None


def box_lines(node: MapNode, home: Span | None, context: RenderContext) -> list[Said]:
    """Return the lines of a box, its title first, with how often it is there."""
    times = f" \N{MULTIPLICATION SIGN}{node.times}" if node.times > 1 else ""
    title = f"{node.title}{times} {place(node.span, home, context)}"
    lines = [Said(title.rstrip(), "title", node.span)]
    for line in node.lines:
        where = place(line.span, home, context) if line.span != node.span else ""
        words = [" ".join(filter(None, [line.text, where])), line.detail]
        lines.append(Said(" \N{MIDDLE DOT} ".join(filter(None, words)), "", line.span))
    return [*lines, *([Said(f"... and {node.more} more", "muted")] if node.more else [])]


def arrow_words(edge: MapEdge | None) -> list[str]:
    """Return what the edge carries, a line a tensor; a long list ends in how many more.

    A line is `loss float32 (8, 128) 4.0 KiB`, as far as it is known.
    """
    if edge is None:
        return []
    words = []
    for crossing in edge.crossings:
        size = "" if crossing.bytes is None else size_in_words(crossing.bytes)
        words.append(" ".join(filter(None, [crossing.name, crossing.tensor, size])))
    if len(words) > MOST:
        words[MOST - 1 :] = [f"and {len(words) - MOST + 1} more"]
    return [*words, *([edge.label] if edge.label else [])]


def deadlock_words(cycle: Cycle) -> str:
    hedge = "" if cycle.certainty is Certainty.DEFINITE else "possible "
    return f"{hedge}deadlock: each of these waits for the next"


def place(span: Span | None, home: Span | None, context: RenderContext) -> str:
    """Return `:12-15`, with the way to the file before it where that is not the one of `home`."""
    if span is None:
        return ""
    cell, start = context.place(span.filename, span.start)
    first = f"cell {cell}:{start.row}" if cell is not None else str(start.row)
    more = span.end.row - span.start.row
    rows = f"{first}-{start.row + more}" if more > 0 else first
    if home is None:
        return f"{span.filename}:{rows}"
    return f"{_way(span.filename, home.filename)}:{rows}"


def _way(filename: str, home: str) -> str:
    """Return the way from a file to another; nothing where they are one."""
    if filename == home:
        return ""
    try:
        way = os.path.relpath(filename, os.path.dirname(home) or ".")
    except ValueError:  # another drive
        return filename
    return min(way, filename, key=len).replace(os.sep, "/")


def touch_words(touch: MapTouch, home: Span | None, context: RenderContext) -> str:
    """Return `write by assign :25`, with how often where that is more than once."""
    times = f" \N{MULTIPLICATION SIGN}{touch.times}" if touch.times > 1 else ""
    row = touch.span._replace(end=touch.span.start)
    return f"{touch.mode} by {touch.how} {place(row, home, context)}{times}"


def touches_of(variable: MapVariable, lane: str) -> list[MapTouch]:
    return [touch for touch in variable.touches if touch.lane == lane]
