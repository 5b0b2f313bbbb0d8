"""The boxes of a picture row by row, and the words that all of its formats share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.finding import DEVICE_LANE, HOST_LANE, Span
from tpulint.map.pictures.model import (
    CALL,
    SENDS,
    ComputationMap,
    Line,
    MapEdge,
    MapNode,
    MapTouch,
    MapVariable,
    in_words,
)
from tpulint.output.context import RenderContext

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
    """Yield the rows, from the top."""
    hosts = {each.key: each for each in drawn.nodes if each.lane == HOST_LANE}
    edges: dict[tuple[str, str], MapEdge] = {
        (each.source, each.kind): each for each in drawn.edges if each.kind == SENDS
    }
    paired: set[str] = set()
    for node in drawn.nodes:
        if node.lane == DEVICE_LANE:
            sends = edges.get((node.key, SENDS)) if node.kind == CALL else None
            host = hosts.get(sends.target) if sends is not None else None
            returns = drawn.edge(host.key, node.key) if host is not None else None
            if host is not None:
                paired.add(host.key)
            yield BoxRow(node, host, sends, returns)
        elif node.key not in paired:
            yield BoxRow(None, node, edges.get((node.key, SENDS)))


def arrow_words(edge: MapEdge) -> list[str]:
    """Return what the edge carries, a line a tensor; a long list ends in how many more."""
    words = [in_words(each) for each in edge.crossings]
    if len(words) > MOST:
        words = [*words[: MOST - 1], f"and {len(words) - MOST + 1} more"]
    return [*words, *([edge.label] if edge.label else [])]


def alarmed(drawn: ComputationMap) -> frozenset[str]:
    """Return the keys of the nodes and variables in a cycle."""
    return frozenset(each for cycle in drawn.cycles for each in cycle.nodes)


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


def line_words(line: Line, node: MapNode, home: Span | None, context: RenderContext) -> str:
    """Return `update :24-25`, and what there is to say of it."""
    where = place(line.span, home, context) if line.span != node.span else ""
    first = " ".join(filter(None, [line.text, where]))
    return f"{first} \N{MIDDLE DOT} {line.detail}" if line.detail else first


def title(node: MapNode) -> str:
    """Return the title of a box, with how often it is there."""
    return f"{node.title} \N{MULTIPLICATION SIGN}{node.times}" if node.times > 1 else node.title


def touches_of(variable: MapVariable, lane: str) -> list[MapTouch]:
    return [each for each in variable.touches if each.lane == lane]
