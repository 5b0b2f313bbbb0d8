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
    Edge,
    Line,
    Node,
)
from tpulint.output.run_report import FEEDS, Computation, Lane, headed

DEVICE = "device"
INFEED, OUTFEED = FEEDS


def map_of_run(ran: Computation) -> ComputationMap:
    """Return the picture of all steps of a computation together."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    device = next((each for each in ran.lanes if each.name == DEVICE), None)
    others = [each for each in ran.lanes if each is not device]
    for number, lane in enumerate(each for each in others if each.name == INFEED):
        key = f"input {number}"
        nodes.append(_host(key, INPUT, lane))
        edges.append(Edge(key, DEVICE, SENDS, (_bytes(lane.bytes_to_device),), _runs(lane)))
    lines = (Line(_runs(device)),) if device is not None else ()
    nodes.append(Node(DEVICE, DEVICE_LANE, "segment", "device program", None, lines))
    before = DEVICE
    for number, lane in enumerate(each for each in others if each.name != INFEED):
        call, key = f"call {number}", f"host {number}"
        kind = OUTFED if lane.name == OUTFEED else CLUSTER
        nodes += [Node(call, DEVICE_LANE, CALL, _call(lane)), _host(key, kind, lane)]
        edges.append(Edge(before, call, THEN))
        before = call
        edges.append(Edge(call, key, SENDS, (_bytes(lane.bytes_to_host),), _runs(lane)))
        if lane.round_trips:
            back = (_bytes(lane.bytes_to_device),)
            edges.append(Edge(key, call, RETURNS, back, _times(lane.round_trips, "round trip")))
    return ComputationMap(headed(ran), None, nodes=tuple(nodes), edges=tuple(edges))


def _host(key: str, kind: str, lane: Lane) -> Node:
    lines = (Line(f"made at {lane.place}"),) if lane.place else ()
    return Node(key, HOST_LANE, kind, lane.name, None, lines)


def _call(lane: Lane) -> str:
    if lane.name == OUTFEED:
        return "enqueues to the outfeed; nobody waits"
    if lane.round_trips:
        return f"waits for {lane.name}"
    return f"does not wait for {lane.name}"


def _runs(lane: Lane) -> str:
    return f"{_times(lane.runs, 'run')} in {lane.seconds * 1e3:,.1f} ms"


def _times(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _bytes(number: int) -> Crossing:
    return Crossing(f"{number:,} B in all")
