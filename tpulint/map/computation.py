"""The map of one computation: boxes and arrows, variables, cycles of waits, moved operations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tpulint.absint.domain.events import Computation, Tensor, Use
from tpulint.absint.domain.objects import ExternalObject, function_of
from tpulint.absint.domain.objects import Sequence as Items
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Value
from tpulint.diagnostics.traces import callee_name
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Span
from tpulint.frontends.tensorflow import map_facts
from tpulint.frontends.tensorflow.program import Program
from tpulint.hardware import dense_bytes
from tpulint.map.lanes import EventBoxes, OpenBox, Part, asked_modes, segment_node, timeline
from tpulint.map.pictures import model
from tpulint.map.variables import variables_of
from tpulint.ordering import Phase, Truth
from tpulint.queries.device_code import is_compiled, is_softly_placed
from tpulint.queries.happens_before import order_of
from tpulint.queries.input_pipelines import data_of, ways
from tpulint.queries.variable_conflicts import Conflict, conflicts, is_on_device

# The map of one computation.

FOLDED = 24  # boxes above which control flow without a host cluster is folded away
MOST = 60  # boxes of a picture
CHAIN = 8  # last steps of an input pipeline
_DOUBT = "possibly not a TPU's: what builds it may be another kind of strategy or device"


def maps_of(
    program: Program, computation: Computation, part: Part
) -> Iterator[model.ComputationMap]:
    """Yield the map of what `part` holds of a computation: of a model_fn, one for each mode.

    The modes of which an input pipeline is seen, or all. What is the same in all is one map.
    """
    fed = {feed.kind for feed in _feeds(program, computation)}
    run = map_facts.MODES.keys() if computation.predicts else map_facts.MODES.keys() - {"predict"}
    modes = fed & map_facts.MODES.keys() or run
    parts = [part]
    if map_facts.has_modes(computation) and (
        any(cluster.kind == map_facts.EVALUATED for cluster in computation.clusters)
        or any(asked_modes(event.context) for event in timeline(computation))
    ):
        parts = [
            Part(part.path, part.meant, name)
            for name, values in map_facts.MODES.items()
            if name in modes and not values & computation.host_modes
        ]
    for part_in_mode in parts or [part]:
        yield _Drawing(program, computation, part_in_mode).finished()


def _feeds(program: Program, computation: Computation) -> Sequence[Feed]:
    """Return the input pipelines of what builds the computation, or of its call itself."""
    owners = [computation.call.receiver, computation.call.result]
    owner_options = [option for owner in owners if owner is not None for option in owner.options]
    other = map_facts.OTHER_STEPS.get(_plain(computation.callee))
    feeds: dict[object, Feed] = {}
    for feed in program.feeds:
        if feed.kind == other:
            continue
        if feed.site == computation.site or any(
            option is owner for option in feed.owner.options for owner in owner_options
        ):
            feeds.setdefault((feed.kind, feed.site), feed)
    return list(feeds.values())


class _Drawing:
    def __init__(self, program: Program, computation: Computation, part: Part) -> None:
        self.program = program
        self.computation = computation
        self.part = part
        self.left_out: list[str] = []
        self.events = timeline(computation)
        self.moved = moved_calls(program, computation)
        self.lanes = EventBoxes(self.events, part, self.moved)
        self._fold()
        self.nodes = list(self._nodes())
        self.keys = frozenset(node.key for node in self.nodes)

    def _fold(self) -> None:
        """Keep the control flow that holds a host cluster; where it is little, all on tensors."""
        hosts = [lane for lane in self.lanes.boxes if lane.kind in (model.CLUSTER, model.OUTFED)]
        holding = frozenset(key for lane in hosts for key in lane.regions)
        on_tensors = self.lanes.regions.on_tensors()
        kept = holding | on_tensors
        if kept != frozenset(self.lanes.regions.met):
            self.lanes = EventBoxes(self.events, self.part, self.moved, kept)
        if len(self.lanes.boxes) <= FOLDED:
            return
        self.lanes = EventBoxes(self.events, self.part, self.moved, holding)
        folded = len(on_tensors - holding)
        if folded:
            plural = "bodies" if folded > 1 else "body"
            self.left_out.append(
                f"{folded} {plural} of branches and loops without a host cluster: their operations"
                " are counted in the segments around them"
            )

    def finished(self) -> model.ComputationMap:
        variables, accesses, more = variables_of(
            self.program, self.computation, self.lanes, self.part
        )
        self.left_out += more
        cycles = cycles_of(self.program, self.computation, self.lanes, self.keys, accesses)
        red = {(wait.source, wait.target) for cycle in cycles for wait in cycle.waits}
        edges = tuple(self._edges(red))
        article = "a " if map_facts.has_modes(self.computation) else ""
        maker = f"{article}{map_facts.maker_of(self.computation)}"
        purpose = f" to {self.part.mode}" if self.part.mode else ""
        return model.ComputationMap(
            f"{_plain(self.computation.callee)}, compiled by {maker}{purpose}",
            self.computation.site.span,
            (_DOUBT,) if self.computation.certainty is Certainty.POSSIBLE else (),
            tuple(self.nodes),
            self.lanes.regions.shown(key for node in self.nodes for key in node.regions),
            edges,
            variables,
            cycles,
            tuple(self.left_out),
        )

    def _nodes(self) -> Iterator[model.MapNode]:
        for number, feed in enumerate(_feeds(self.program, self.computation)):
            if self.part.mode in (None, feed.kind):
                yield _input_node(self.program, feed, number)
        yield self._entry()
        segments = shown = 0
        for box in self.lanes.boxes:
            if box.kind == model.SEGMENT:
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

    def _entry(self) -> model.MapNode:
        computation = self.computation
        where = computation.context.call_chain
        inside = f"called in {where[-1].name}" if where else "called by the module"
        lines = [f"compiles {_plain(computation.callee)}", inside]
        results = tensors(computation.result) if computation.result is not None else []
        if results:
            lines.append(f"gets {len(results)} result{'s' if len(results) > 1 else ''}")
        title, span = map_facts.maker_of(computation), computation.site.span
        shown = tuple(map(model.Line, lines))
        return model.MapNode("entry", HOST_LANE, model.ENTRY, title, span, shown)

    def _call_node(self, box: OpenBox) -> model.MapNode:
        if box.moved:
            line = model.Line("has no TPU kernel: soft placement moves it to the host")
            return box.node(box.moved[0].last, _span(box.moved[0].site), (line,))
        cluster = box.opened[0]
        name = _plain(cluster.callee)
        words = {Truth.YES: f"waits for {name}", Truth.MAYBE: f"may wait for {name}"}
        if cluster.kind in ("host_call", "eval_metrics"):
            text = "goes through the outfeed; nothing waits"
        else:
            order = order_of(self.program, self.computation)
            parts = {placement.when for placement in order.placements(cluster)}
            text = words.get(order.waits_for(cluster)) or _unawaited(name, parts)
        span = _span(cluster.site)
        return box.node(f"{cluster.kind}({name})", span, (model.Line(text, span),))

    def _edges(self, red: set[tuple[str, str]]) -> Iterator[model.MapEdge]:
        order = [node for node in self.nodes if node.lane == DEVICE_LANE]
        for node in self.nodes:
            if node.kind in (model.ENTRY, model.INPUT) and order:
                crossings = inputs_of(self.computation) if node.kind == model.ENTRY else ()
                yield model.MapEdge(node.key, order[0].key, model.SENDS, crossings)
        for box_before, other in itertools.pairwise(order):
            yield model.MapEdge(box_before.key, other.key, model.THEN)
        for box in self.lanes.boxes:
            if box.lane != HOST_LANE or box.key not in self.keys:
                continue
            call = self.lanes.call_of(box.key)
            if box.moved:
                yield from _moved_edges(box, call)
                continue
            cluster = box.opened[0]
            if cluster.parent is not None:
                outer = self.lanes.of_cluster.get(id(cluster.parent))
                if outer in self.keys:
                    yield model.MapEdge(str(outer), box.key, model.NESTED)
                continue
            sent = given_away(cluster.receives)
            unseen = "not known" if cluster.vague and not sent else ""
            yield model.MapEdge(call, box.key, model.SENDS, sent, unseen, (call, box.key) in red)
            back = given_away(cluster.uses)
            waits = order_of(self.program, self.computation).waits_for(cluster)
            if back or waits is not Truth.NO:
                label = "" if back else "when it has ended"
                yield model.MapEdge(box.key, call, model.RETURNS, back, label)


def _unawaited(name: str, parts: set[Phase]) -> str:
    if parts == {Phase.BEFORE}:
        return f"{name} runs before the device program"
    return f"nothing waits for {name}" if parts == {Phase.AFTER} else f"sends to {name}"


def _cluster_node(box: OpenBox) -> model.MapNode:
    if box.moved:
        call = box.moved[0]
        operations = ", ".join(map_facts.operations_on_host(call.path))
        lines = (model.Line(operations),) if operations else ()
        return box.node(call.last, _span(call.site), lines)
    cluster = box.opened[0]
    shown, more = box.shown()
    taken = dict.fromkeys(
        _plain(source.callee) for source in cluster.fed_by if source is not cluster
    )
    if taken:
        shown += (model.Line(f"takes results of {', '.join(taken)}"),)
    function = function_of(cluster.callee)
    span = _span(Site(function.module, function.code.place)) if function is not None else None
    return box.node(_plain(cluster.callee), span or _span(cluster.named), shown, more)


def _input_node(program: Program, feed: Feed, number: int) -> model.MapNode:
    """Return an input pipeline, with the steps of its dataset as they were written."""
    lines = []
    function = function_of(feed.function) if feed.function is not None else None
    if function is not None:
        site = Site(function.module, function.code.place)
        lines.append(model.Line(function.name, _span(site)))
    names = _step_names(data_of(program, feed))
    if len(names) > CHAIN:
        names[CHAIN:] = ["..."]
    if names:
        lines.append(model.Line(" \N{RIGHTWARDS ARROW} ".join(reversed(names))))
    key, title, span = f"input {number}", f"input pipeline of {feed.kind}", _span(feed.site)
    return model.MapNode(key, HOST_LANE, model.INPUT, title, span, tuple(lines))


def _step_names(data: Value) -> list[str]:
    """Return the names of the steps of a dataset, last first, on the longest way to it.

    What made its arrays is no step of it, and `apply` has the name of what it applies.
    """
    calls = max(ways(data), key=len, default=[])
    names = []
    for step in [call for call in calls if map_facts.is_dataset(call)] or calls:
        applied = [value for _, value in step.arguments if isinstance(value, ExternalObject)]
        names.append(applied[0].last if step.last == "apply" and applied else step.last)
    return names


def _plain(callee: Value) -> str:
    return callee_name(callee).replace("`", "")


def _span(site: Site) -> Span | None:
    return site.span if site.place >= 0 else None


# The cycles of waits: the device program holds a variable that a cluster it waits for wants.


def cycles_of(
    program: Program,
    computation: Computation,
    lanes: EventBoxes,
    shown: frozenset[str],
    variables: Mapping[int, str],
) -> tuple[model.Cycle, ...]:
    """Return the cycles among the nodes that are shown, one for each cluster and variable."""
    cycles: dict[tuple[str, str], model.Cycle] = {}
    for conflict in conflicts(program):
        if conflict.computation is not computation or not conflict.waits:
            continue
        outer = conflict.cluster
        while outer.parent is not None:
            outer = outer.parent
        cluster = lanes.of_cluster.get(id(outer))
        variable = variables.get(id(conflict.variable))
        if cluster is None or variable is None or cluster not in shown:
            continue
        before = cycles.get((cluster, variable))
        is_sure = before is not None and before.certainty is not Certainty.POSSIBLE
        if is_sure or is_on_device(conflict.variable):
            continue
        cycles[cluster, variable] = _cycle(conflict, lanes.call_of(cluster), cluster, variable)
    return tuple(cycles.values())


def _cycle(conflict: Conflict, call: str, cluster: str, variable: str) -> model.Cycle:
    name = conflict.variable.name
    verb = "writes" if conflict.device.mode == "write" else "reads"
    held = f"{verb} {name}, and holds it until the program ends"
    wait = f"waits for the result of {_plain(conflict.cluster.callee)}"
    wants = f"waits for {name}, which the device program holds"
    legs = (
        model.MapWait(variable, call, DEVICE_LANE, held, conflict.device.site.span),
        model.MapWait(call, cluster, DEVICE_LANE, wait, conflict.cluster.site.span),
        model.MapWait(cluster, variable, HOST_LANE, wants, conflict.host.site.span),
    )
    return model.Cycle(variable, conflict.certainty, legs)


# Operations without a TPU kernel that soft placement moves to the host, as host clusters.


def moved_calls(program: Program, computation: Computation) -> frozenset[int]:
    """Return the calls of a computation that are moved, by identity."""
    if not is_softly_placed(program, computation):
        return frozenset()
    return frozenset(
        id(call)
        for call in computation.calls
        if is_compiled(call.context) and map_facts.operations_on_host(call.path)
    )


def _moved_edges(box: OpenBox, call: str) -> Iterator[model.MapEdge]:
    """Yield the arrows between both sides: the tensors that are given, and those that come back."""
    first = box.moved[0]
    sent: list[model.Crossing] = []
    for argument in first.arguments:
        name = name_at(argument.site, anything=True)
        sent += [crossing(tensor, name) for tensor in tensors(argument.value)]
    yield model.MapEdge(call, box.key, model.SENDS, tuple(sent))
    back = tuple(crossing(tensor, "") for tensor in tensors(first.result))
    if back:
        yield model.MapEdge(box.key, call, model.RETURNS, back)


# The tensors that cross between device and host, and their sizes where dtype and shape are known.

NAME = re.compile(r"[A-Za-z_][\w.]*(\[\w*\])?")
SORTS = {"structure": "tensors", "unseen": "not known"}
LONGEST = 40  # characters of an expression that is shown as a name


def given_away(uses: Iterable[Use]) -> tuple[model.Crossing, ...]:
    """Return what the uses take from the other side, each tensor once.

    An argument is called what it is called where it is sent; so is what a closure takes, if that is
    a name.
    """
    captured: dict[int, tuple[Tensor, str]] = {}
    for use in uses:
        name = name_at(use.site, anything=use.taker == map_facts.SENT)
        capture = captured.get(id(use.tensor))
        if capture is None or not capture[1]:
            captured[id(use.tensor)] = (use.tensor, name)
    return _distinct(captured.values())


def _distinct(sent: Iterable[tuple[Tensor, str]]) -> tuple[model.Crossing, ...]:
    """Return the crossings of the tensors by name, without the alternatives that nobody knows.

    One argument can have several values: a branch that was not seen adds no tensor of its own.
    """
    named = list(sent)
    known_names = {name for tensor, name in named if name and tensor.sort not in SORTS}
    crossings: list[model.Crossing] = []
    for tensor, name in named:
        drawn = crossing(tensor, name)
        is_known = tensor.sort not in SORTS or not name
        if is_known or (name not in known_names and drawn not in crossings):
            crossings.append(drawn)
    return tuple(crossings)


def inputs_of(computation: Computation) -> tuple[model.Crossing, ...]:
    """Return what a computation is given, by the names of its parameters."""
    function = function_of(computation.callee)
    names: Sequence[str] = ()
    if function is not None:
        names = [parameter.name for parameter in function.code.parameters.by_position]
        names = names[1:] if function.owner is not None and names[:1] == ["self"] else names
    sent: list[tuple[Tensor, str]] = []
    for index, value in enumerate(_given(computation)):
        name = names[index] if index < len(names) else ""
        sent += [(tensor, name) for tensor in tensors(value)]
    return _distinct(sent)


def _given(computation: Computation) -> Sequence[Value]:
    """Return what each parameter gets on the first replica, as far as it is seen.

    Only `rewrite` and `replicate` hand over what they are given as it is.
    """
    inputs = computation.call.argument("inputs", 1)
    passed = inputs.value if inputs is not None else None
    if computation.kind == "replicate" and isinstance(passed, Items) and passed.items:
        passed = passed.items[0]
    if computation.kind not in ("rewrite", "replicate") or not isinstance(passed, Items):
        return computation.parameters
    is_whole = not passed.open and len(passed.items) == len(computation.parameters)
    return passed.items if is_whole else computation.parameters


def crossing(tensor: Tensor, name: str) -> model.Crossing:
    """Return what is known of the tensor, under that name."""
    shape = ""
    if tensor.shape is not None:
        sizes = ("?" if size is None else str(size) for size in tensor.shape)
        shape = f"({', '.join(sizes)})"
    words = " ".join(filter(None, [tensor.dtype, shape])) or SORTS.get(tensor.sort, tensor.sort)
    return model.Crossing(name, words, _bytes(tensor))


def _bytes(tensor: Tensor) -> int | None:
    """Return the bytes; None where a size is not known, or an element's vary, as a string's."""
    if tensor.sort != "tensor" or tensor.dtype is None or tensor.shape is None:
        return None
    sizes = [size for size in tensor.shape if size is not None]
    is_known = len(sizes) == len(tensor.shape) and dense_bytes((), tensor.dtype) > 0
    return dense_bytes(sizes, tensor.dtype) if is_known else None


def name_at(site: Site, *, anything: bool) -> str:
    """Return the source text at `site`, if it reads as a name or is an argument."""
    if site.place < 0 or site.span.start.row != site.span.end.row:
        return ""
    start, end = site.span.start, site.span.end
    text = site.module.text.splitlines()[start.row - 1][start.column - 1 : end.column - 1]
    is_shown = NAME.fullmatch(text) or (anything and len(text) <= LONGEST)
    return text if is_shown else ""
