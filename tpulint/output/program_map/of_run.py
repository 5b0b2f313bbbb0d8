"""The picture of a run: the same lanes, with what crossed, how often and in which time."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.output.program_map.model import (
    CALL,
    CLUSTER,
    INPUT,
    OUTFED,
    RETURNS,
    SENDS,
    THEN,
    ComputationMap,
    Crossing,
    Line,
    MapEdge,
    MapNode,
)
from tpulint.output.run_report import FEEDS, ComputationRun, Lane, headed

DEVICE = "device"
INFEED, OUTFEED = FEEDS


def map_of_run(ran: ComputationRun) -> ComputationMap:
    """Return the picture of all steps of a computation together."""
    nodes: list[MapNode] = []
    edges: list[MapEdge] = []
    device = next((each for each in ran.lanes if each.name == DEVICE), None)
    others = [each for each in ran.lanes if each is not device]
    for number, lane in enumerate(each for each in others if each.name == INFEED):
        key = f"input {number}"
        nodes.append(_host(key, INPUT, lane))
        edges.append(MapEdge(key, DEVICE, SENDS, (_bytes(lane.bytes_to_device),), _runs(lane)))
    lines = (Line(_runs(device)),) if device is not None else ()
    nodes.append(MapNode(DEVICE, DEVICE_LANE, "segment", "device program", None, lines))
    before = DEVICE
    for number, lane in enumerate(each for each in others if each.name != INFEED):
        call, key = f"call {number}", f"host {number}"
        kind = OUTFED if lane.name == OUTFEED else CLUSTER
        nodes += [MapNode(call, DEVICE_LANE, CALL, _call(lane)), _host(key, kind, lane)]
        edges.append(MapEdge(before, call, THEN))
        before = call
        edges.append(MapEdge(call, key, SENDS, (_bytes(lane.bytes_to_host),), _runs(lane)))
        if lane.round_trips:
            back = (_bytes(lane.bytes_to_device),)
            edges.append(MapEdge(key, call, RETURNS, back, _times(lane.round_trips, "round trip")))
    return ComputationMap(headed(ran), None, nodes=tuple(nodes), edges=tuple(edges))


def _host(key: str, kind: str, lane: Lane) -> MapNode:
    lines = (Line(f"made at {lane.place}"),) if lane.place else ()
    return MapNode(key, HOST_LANE, kind, lane.name, None, lines)


def _call(lane: Lane) -> str:
    if lane.name == OUTFEED:
        return "enqueues to the outfeed; nothing waits"
    if lane.round_trips:
        return f"waits for {lane.name}"
    return f"does not wait for {lane.name}"


def _runs(lane: Lane) -> str:
    return f"{_times(lane.runs, 'run')} in {lane.seconds * 1e3:,.1f} ms"


def _times(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _bytes(number: int) -> Crossing:
    return Crossing(f"{number:,} B in all")
