"""The picture of a deadlock that a finding reports, made of the steps of its trace."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.finding import DEVICE_LANE, HOST_LANE, Finding, Step
from tpulint.output.program_map.model import (
    CALL,
    CLUSTER,
    RETURNS,
    SEGMENT,
    SENDS,
    THEN,
    ComputationMap,
    Cycle,
    Line,
    MapEdge,
    MapNode,
    MapTouch,
    MapVariable,
    MapWait,
)

DEVICE, CALLS, HOST, VARIABLE = "device", "call", "host", "variable"


def map_of_finding(finding: Finding) -> ComputationMap | None:
    """Return the picture, None for a finding whose lanes do not wait for each other."""
    device = [each for each in finding.trace if each.lane == DEVICE_LANE]
    host = [each for each in finding.trace if each.lane == HOST_LANE]
    held = next((each for each in device if each.holds), None)
    if held is None or not device[-1].waits_for or not host or host[-1].waits_for != held.holds:
        return None
    call, wants, name = device[-1], host[-1], held.holds
    nodes = (
        MapNode(DEVICE, DEVICE_LANE, SEGMENT, "device program", None, _lines(device[:-1])),
        MapNode(CALLS, DEVICE_LANE, CALL, _plain(call.message), call.span),
        MapNode(HOST, HOST_LANE, CLUSTER, _plain(call.waits_for), host[0].span, _lines(host)),
    )
    edges = (
        MapEdge(DEVICE, CALLS, THEN),
        MapEdge(CALLS, HOST, SENDS, label="waits for", alarm=True),
        MapEdge(HOST, CALLS, RETURNS, label="never comes back"),
    )
    touches = (
        MapTouch(DEVICE, DEVICE_LANE, "held", "the device program", held.span),
        MapTouch(HOST, HOST_LANE, "wanted", "the host", wants.span),
    )
    waits = (
        MapWait(VARIABLE, CALLS, DEVICE_LANE, _plain(held.message), held.span),
        MapWait(CALLS, HOST, DEVICE_LANE, _plain(call.message), call.span),
        MapWait(HOST, VARIABLE, HOST_LANE, _plain(wants.message), wants.span),
    )
    return ComputationMap(
        "The deadlock",
        finding.span,
        nodes=nodes,
        edges=edges,
        variables=(MapVariable(VARIABLE, name, "variable", None, touches),),
        cycles=(Cycle(VARIABLE, finding.certainty, waits),),
    )


def _lines(steps: Sequence[Step]) -> tuple[Line, ...]:
    return tuple(Line(_plain(each.message), each.span) for each in steps)


def _plain(text: str) -> str:
    return text.replace("`", "")
