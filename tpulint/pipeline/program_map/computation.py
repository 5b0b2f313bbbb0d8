"""The map of one computation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tpulint.analysis.domain.events import MODEL_FN, Cluster, Computation
from tpulint.analysis.domain.objects import ExternalObject, function_of
from tpulint.analysis.domain.program import Feed, Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import options
from tpulint.diagnostics.traces import callee_name
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Span
from tpulint.output.program_map.model import (
    CLUSTER,
    ENTRY,
    INPUT,
    NESTED,
    OUTFED,
    RETURNS,
    SEGMENT,
    SENDS,
    THEN,
    ComputationMap,
    Line,
    MapEdge,
    MapNode,
)
from tpulint.pipeline.program_map.boxes import OpenBox, segment_node
from tpulint.pipeline.program_map.cycles import cycles_of
from tpulint.pipeline.program_map.lanes import EventBoxes
from tpulint.pipeline.program_map.moved import moved_call, moved_calls, moved_edges, moved_host
from tpulint.pipeline.program_map.part import Part
from tpulint.pipeline.program_map.regions import Regions
from tpulint.pipeline.program_map.sizes import given_away, inputs_of, results_of
from tpulint.pipeline.program_map.timeline import timeline
from tpulint.pipeline.program_map.variables import variables_of
from tpulint.queries.happens_before import AFTER, BEFORE, order_of
from tpulint.queries.input_pipelines import data_of, steps

FOLDED = 24  # boxes above which control flow without a host cluster is folded away
MOST = 60  # boxes of a picture
CHAIN = 6  # steps of an input pipeline


def map_of(program: Program, computation: Computation, part: Part) -> ComputationMap:
    """Return the map of what `part` holds of a computation."""
    return _Drawing(program, computation, part).finished()


class _Drawing:
    def __init__(self, program: Program, computation: Computation, part: Part) -> None:
        self.program = program
        self.computation = computation
        self.part = part
        self.left_out: list[str] = []
        self.events = timeline(computation)
        self.moved = moved_calls(program, computation)
        self.regions = Regions()
        self.lanes = EventBoxes(self.events, part, self.regions, self.moved)
        self._fold()
        self.nodes = list(self._nodes())
        self.keys = frozenset(each.key for each in self.nodes)

    def _fold(self) -> None:
        """Keep the control flow that holds a host cluster; where it is little, all on tensors."""
        around = [each.regions for each in self.lanes if each.kind in (CLUSTER, OUTFED)]
        holding = frozenset(key for keys in around for key in keys)
        on_tensors = self.regions.on_tensors()
        kept = holding | on_tensors
        self._read_again(kept)
        if len(self.lanes.boxes) <= FOLDED:
            return
        self._read_again(holding)
        folded = len(on_tensors - holding)
        if folded:
            plural = "bodies" if folded > 1 else "body"
            self.left_out.append(
                f"{folded} {plural} of branches and loops without a host cluster: their operations"
                " are counted in the segments around them"
            )

    def _read_again(self, kept: frozenset[str]) -> None:
        if kept != frozenset(self.regions.met):
            self.regions = Regions(kept)
            self.lanes = EventBoxes(self.events, self.part, self.regions, self.moved)

    def finished(self) -> ComputationMap:
        variables, accesses, more = variables_of(self.computation, self.lanes, self.part)
        self.left_out += more
        cycles = cycles_of(self.program, self.computation, self.lanes, self.keys, accesses)
        red = {(each.source, each.target) for cycle in cycles for each in cycle.waits}
        edges = tuple(self._edges(red))
        name = callee_name(self.computation.callee).replace("`", "")
        how = "a TPUEstimator" if self.computation.kind == MODEL_FN else self.computation.kind
        return ComputationMap(
            f"{name}, compiled by {how}",
            self.computation.site.span,
            tuple(self._notes()),
            tuple(self.nodes),
            self.regions.shown(key for node in self.nodes for key in node.regions),
            edges,
            variables,
            cycles,
            tuple(self.left_out),
        )

    def _notes(self) -> Iterator[str]:
        if self.computation.certainty is Certainty.POSSIBLE:
            yield "possibly not a TPU's: what builds it may be another kind of strategy or device"

    def _nodes(self) -> Iterator[MapNode]:
        for number, feed in enumerate(self._feeds()):
            yield _input_node(self.program, feed, number)
        yield self._entry()
        segments = shown = 0
        for box in self.lanes:
            if box.kind == SEGMENT:
                node = segment_node(box, segments + 1)
                segments += node is not None
            elif box.lane == DEVICE_LANE:
                node = self._call_node(box)
            else:
                node = _cluster_node(box)
            if node is None:
                continue
            shown += 1
            if shown <= MOST:
                yield node
        if shown > MOST:
            self.left_out.append(f"{shown - MOST} more boxes: name a function to see its part")

    def _entry(self) -> MapNode:
        computation = self.computation
        name = callee_name(computation.callee).replace("`", "")
        where = computation.context.call_chain
        inside = f"called in {where[-1].name}" if where else "called by the module"
        lines = [Line(f"compiles {name}"), Line(inside)]
        found = results_of(computation)
        if found:
            lines.append(Line(f"gets {len(found)} result{'s' if len(found) > 1 else ''}"))
        kind = "TPUEstimator" if computation.kind == MODEL_FN else computation.kind
        return MapNode("entry", HOST_LANE, ENTRY, kind, computation.site.span, tuple(lines))

    def _feeds(self) -> Sequence[Feed]:
        owners = [self.computation.call.receiver, self.computation.call.result]
        known = [option for each in owners if each is not None for option in options(each)]
        found: dict[object, Feed] = {}
        for feed in self.program.feeds:
            if any(one is each for one in options(feed.owner) for each in known):
                found.setdefault((feed.kind, feed.site), feed)
        return list(found.values())

    def _call_node(self, box: OpenBox) -> MapNode:
        if box.moved:
            return moved_call(box)
        cluster = box.opened[0]
        name = _plain(cluster)
        words = {True: f"waits for {name}", False: f"may wait for {name}"}
        if cluster.kind in ("host_call", "eval_metrics"):
            text = "goes through the outfeed; nothing waits"
        else:
            order = order_of(self.program, self.computation)
            waits = order.waits_for(cluster)
            turns = {each.when for each in order.turns(cluster)}
            text = words[waits] if waits is not None else _unawaited(name, turns)
        times = len(box.opened)
        return MapNode(
            box.key,
            box.lane,
            box.kind,
            f"{cluster.kind}({name})",
            _span(cluster.site),
            (Line(text, _span(cluster.site)),),
            box.regions,
            times,
        )

    def _edges(self, red: set[tuple[str, str]]) -> Iterator[MapEdge]:
        order = [each for each in self.nodes if each.lane == DEVICE_LANE]
        for node in self.nodes:
            if node.kind in (ENTRY, INPUT) and order:
                crossings = inputs_of(self.computation) if node.kind == ENTRY else ()
                yield MapEdge(node.key, order[0].key, SENDS, crossings)
        for one, other in itertools.pairwise(order):
            yield MapEdge(one.key, other.key, THEN)
        for box in self.lanes:
            if box.lane != HOST_LANE or box.key not in self.keys:
                continue
            call = self.lanes.call_of(box.key)
            if box.moved:
                yield from moved_edges(box, call)
                continue
            cluster = box.opened[0]
            if cluster.parent is not None:
                outer = self.lanes.of_cluster.get(id(cluster.parent))
                if outer in self.keys:
                    yield MapEdge(str(outer), box.key, NESTED)
                continue
            sent = given_away(cluster.receives)
            unseen = "not known" if cluster.vague and not sent else ""
            yield MapEdge(call, box.key, SENDS, sent, unseen, (call, box.key) in red)
            back = given_away(cluster.uses)
            waits = order_of(self.program, self.computation).waits_for(cluster)
            if back or waits is not None:
                label = "" if back else "when it has ended"
                yield MapEdge(box.key, call, RETURNS, back, label)


def _unawaited(name: str, turns: set[str]) -> str:
    if turns == {BEFORE}:
        return f"{name} runs before the device program"
    return f"nothing waits for {name}" if turns == {AFTER} else f"sends to {name}"


def _cluster_node(box: OpenBox) -> MapNode:
    if box.moved:
        return moved_host(box)
    cluster = box.opened[0]
    shown, more = box.shown()
    taken = dict.fromkeys(_plain(each) for each in cluster.fed_by if each is not cluster)
    if taken:
        shown += (Line(f"takes results of {', '.join(taken)}"),)
    function = function_of(cluster.callee)
    span = _span(Site(function.module, function.code.place)) if function is not None else None
    return MapNode(
        box.key,
        box.lane,
        box.kind,
        _plain(cluster),
        span or _span(cluster.named),
        shown,
        box.regions,
        len(box.opened),
        more,
    )


def _input_node(program: Program, feed: Feed, number: int) -> MapNode:
    """An input pipeline, with the steps of its dataset as they were written."""
    names = []
    for each in steps(data_of(program, feed)):
        if isinstance(each, ExternalObject):
            names.append(each.last)
    chain = " \N{RIGHTWARDS ARROW} ".join(dict.fromkeys(reversed(names[:CHAIN])))
    lines = [Line(chain)] if chain else []
    function = function_of(feed.function) if feed.function is not None else None
    if function is not None:
        site = Site(function.module, function.code.place)
        lines.insert(0, Line(function.name, _span(site)))
    return MapNode(
        f"input {number}",
        HOST_LANE,
        INPUT,
        f"input pipeline of {feed.kind}",
        _span(feed.site),
        tuple(lines),
    )


def _plain(cluster: Cluster) -> str:
    return callee_name(cluster.callee).replace("`", "")


def _span(site: Site) -> Span | None:
    return site.span if site.place >= 0 else None
