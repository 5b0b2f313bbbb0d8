"""Operations without a TPU kernel that soft placement moves to the host, as host clusters."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors
from tpulint.finding import Span
from tpulint.knowledge.operations import builds
from tpulint.output.program_map.model import RETURNS, SENDS, Crossing, Line, MapEdge, MapNode
from tpulint.pipeline.program_map.boxes import OpenBox
from tpulint.pipeline.program_map.sizes import crossing, name_at
from tpulint.queries.device_code import is_compiled, placed_softly


def moved_calls(program: Program, computation: Computation) -> frozenset[int]:
    """Return the calls of a computation that are moved, by identity."""
    if not placed_softly(program, computation):
        return frozenset()
    return frozenset(
        id(each)
        for each in computation.calls
        if is_compiled(each.context) and builds(each.path) is not None
    )


def moved_call(box: OpenBox) -> MapNode:
    """Return the device's side."""
    call = box.moved[0]
    line = Line("has no TPU kernel: soft placement moves it to the host")
    return _node(box, call.last, (line,))


def moved_host(box: OpenBox) -> MapNode:
    """Return the host's side."""
    built = builds(box.moved[0].path)
    lines = (Line(", ".join(built.operations)),) if built is not None else ()
    return _node(box, box.moved[0].last, lines)


def moved_edges(box: OpenBox, call: str) -> Iterator[MapEdge]:
    """The arrows between both sides: the tensors that are given, and those that come back."""
    first = box.moved[0]
    sent: list[Crossing] = []
    for each in first.arguments:
        name = name_at(each.site, anything=True)
        sent += [crossing(tensor, name) for tensor in tensors(each.value)]
    yield MapEdge(call, box.key, SENDS, tuple(sent))
    back = tuple(crossing(each, "") for each in tensors(first.result))
    if back:
        yield MapEdge(box.key, call, RETURNS, back)


def _node(box: OpenBox, title: str, lines: tuple[Line, ...]) -> MapNode:
    span = _span(box.moved[0].site)
    return MapNode(box.key, box.lane, box.kind, title, span, lines, box.regions, len(box.moved))


def _span(site: Site) -> Span | None:
    return site.span if site.place >= 0 else None
