"""The effect of the device program's locks on the host clusters that touch its variables.

The device program holds each variable that it touches from its start to its end, and waits for
every cluster whose result it takes. So a host operation that touches such a variable runs before,
after (nothing on the device waits for it), or never: the wait-for graph has a cycle.

A lane (a device program, a host cluster, a replica) waits for others; a variable that is held is
in the graph too, waiting for its holder to end. A lane needs everything that it waits for, so any
cycle is a deadlock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from tpulint.ordering import Edge, HostOrder, Phase, Placement, Truth, is_stale, reachable
from tpulint.runtime.emulator import Options
from tpulint.runtime.errors import DeadlockError, DeviceVariableError, StaleVariableWarning
from tpulint.runtime.extract.bodies import Touch
from tpulint.runtime.extract.region import Key, Operation, Region, key_of, sources_of
from tpulint.runtime.schedule.variables import TouchedVariable
from tpulint.runtime.source_location import operation_location

# The Identity operations at arguments and results, which TensorFlow removes before it looks.
_REMOVED = ("_tpu_input_identity", "_tpu_output_identity")


class RegionGraph:
    """The graph of a finished region, in which every edge is certain. Its nodes are names."""

    def __init__(self, region: Region, *, is_top: bool) -> None:
        self.is_top = is_top
        self._region = region
        self._clusters = {op.name: region.cluster_of(op) for op in region.ops}
        self.host_nodes = [name for name, cluster in self._clusters.items() if cluster is not None]
        self._sources: dict[str, list[Edge[str]]] = {}
        self._users: dict[str, list[Edge[str]]] = defaultdict(list)
        for op in region.ops:
            self._sources[op.name] = self._edges_to(op)
            if not self._is_removed(op):
                for edge in self._sources[op.name]:
                    self._users[edge.source].append(edge)
        self._results = {self._made_by(tensor.op) for tensor in region.outputs}

    def cluster_of(self, node: str) -> str | None:
        return self._clusters[node]

    def sources(self, node: str) -> Sequence[Edge[str]]:
        return self._sources[node]

    def users(self, node: str) -> Sequence[Edge[str]]:
        return self._users.get(node, ())

    def holds(self, edge: Edge[str]) -> Truth:
        return Truth.YES if edge.is_certain else Truth.MAYBE

    def takes_from_device(self, node: str) -> Truth:
        sources = (edge.source for edge in self._sources[node])
        return Truth.YES if any(self._clusters[name] is None for name in sources) else Truth.NO

    def lead_to_device(self, edges: Iterable[Edge[str]]) -> Truth:
        users = (edge.user for edge in edges)
        return Truth.YES if any(self._clusters[name] is None for name in users) else Truth.NO

    def is_live(self, node: str) -> bool:
        return node in self._clusters  # a region has only what is needed

    def is_result(self, node: str) -> bool:
        return node in self._results

    def is_taken(self, node: str) -> bool:
        # The results of a body are those of a conditional or a loop, which the device computes.
        return node in self._results and not self.is_top

    def is_waited_for(self, node: str) -> bool:
        return False

    def _edges_to(self, op: Operation) -> list[Edge[str]]:
        sources = [(tensor.op, True) for tensor in op.inputs]
        sources += [(source, False) for source in op.control_inputs]
        edges: list[Edge[str]] = []
        for source, is_data in sources:
            if source.name not in self._region.names:
                continue
            if not self._is_removed(source):
                edges.append(Edge(source.name, op.name, is_data))
                continue
            # Its own edges, as if `op` had them.
            for edge in self._sources[source.name]:
                edges.append(Edge(edge.source, op.name, is_data and edge.is_data))
        return edges

    def _is_removed(self, op: Operation) -> bool:
        attributes = self._region.nodes[op.name].attr
        return any(mark in attributes for mark in _REMOVED)

    def _made_by(self, op: Operation) -> str:
        """Return the name of what makes the results of `op`, past removed Identity operations."""
        while op.name in self._region.names and self._is_removed(op):
            op = op.inputs[0].op
        name: str = op.name
        return name


@dataclass(frozen=True)
class Wait:
    """`lane` waits for `held_up_by`; `reason` and the user's line say why.

    `rule` is the code of the rule that covers it, if there is one.
    """

    lane: str
    held_up_by: str
    reason: str
    place: str | None = None
    rule: str = ""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return f"{self.lane}: {self.reason}{where}"


def closed_cycle(waits: Iterable[Wait], last: Wait) -> tuple[Wait, ...]:
    """Return the cycle that `last`, with which it begins, closes with `waits`, or ()."""
    by_lane: dict[str, dict[str, Wait]] = defaultdict(dict)
    for wait in waits:
        by_lane[wait.lane][wait.held_up_by] = wait
    ways: dict[str, tuple[Wait, ...]] = {last.held_up_by: (last,)}
    unread = [last.held_up_by]
    while unread:
        lane = unread.pop()
        if lane == last.lane:
            return ways[lane]
        for wait in by_lane[lane].values():
            if wait.held_up_by not in ways:
                ways[wait.held_up_by] = (*ways[lane], wait)
                unread.append(wait.held_up_by)
    return ()


DEVICE = "device"


@dataclass(frozen=True, eq=False)
class Deadlock:
    """`cycle` closes when a host operation waits for `variable`."""

    variable: TouchedVariable
    cycle: tuple[Wait, ...]

    def fault(self, replica: str) -> DeadlockError:
        """Return the error that describes the cycle in the program of `replica`."""
        return DeadlockError(
            f"Deadlock in {replica} over the variable '{self.variable.name}': "
            "its lanes wait for each other\n" + "\n".join(f"  {wait}" for wait in self.cycle),
            place=self.cycle[0].place,
            rule="TPU105" if self.variable.is_global_step else "TPU101",
        )


@dataclass(eq=False)
class AccessSchedule:
    """The times of operations of host clusters, by `key_of`."""

    before: set[Key] = field(default_factory=set)
    """They run before the device program."""
    after: set[Key] = field(default_factory=set)
    """They run after it."""
    queued: set[Key] = field(default_factory=set)
    """They are in a body, and run after it as often as they were reached."""
    deadlocks: dict[Key, Deadlock] = field(default_factory=dict)
    """They never run."""
    warnings: list[StaleVariableWarning] = field(default_factory=list)


def _placements(region: Region, *, is_top: bool) -> dict[str, Placement]:
    """Return when the host operations of `region` run, by name."""
    graph = RegionGraph(region, is_top=is_top)
    order = HostOrder(graph)
    return {name: order.placement(name) for name in graph.host_nodes}


def schedule_accesses(
    top: Region, variables: Iterable[TouchedVariable], options: Options
) -> AccessSchedule:
    """Return when each host access of a variable that the device touches runs.

    Raises:
        DeviceVariableError: a host cluster touches a variable of a strategy.
    """
    accesses = AccessSchedule()
    placements = {id(top): _placements(top, is_top=True)}
    for variable in variables:
        for touch in variable.on_host:
            if variable.of_strategy:
                raise DeviceVariableError(
                    f"The variable '{variable.name}' of a TPUStrategy scope is touched "
                    "in a host cluster",
                    place=operation_location(touch.op),
                )
            # Nothing holds it while the device program runs.
            if not variable.on_device:
                continue
            region = touch.region
            if id(region) not in placements:
                placements[id(region)] = _placements(region, is_top=False)
            _schedule_access(accesses, top, variable, touch, placements[id(region)], options)
    return accesses


def _schedule_access(
    accesses: AccessSchedule,
    top: Region,
    variable: TouchedVariable,
    touch: Touch,
    placements: Mapping[str, Placement],
    options: Options,
) -> None:
    """Add `touch`, on the host, of a `variable` that the device program touches too."""
    placement = placements[touch.anchor.name]
    key = key_of(touch.region, touch.anchor)
    # Whatever the option says: the device program has not taken the variable yet.
    if placement.when is Phase.BEFORE:
        accesses.before.add(key)
    elif options.host_variables == "snapshot":
        if placement.is_last:
            accesses.after.update(_with_followers(touch))
        else:
            accesses.warnings.append(_stale(variable, touch))
        return
    elif placement.when is Phase.AWAITED:
        accesses.deadlocks[key] = Deadlock(variable, _cycle(variable, touch, placements))
        return
    else:
        # In a body it may be reached several times, or never: it is queued.
        late = accesses.after if touch.region is top else accesses.queued
        late.update(_with_followers(touch))
    if any(_misses(top, placement, touch, other) for other in variable.on_device):
        accesses.warnings.append(_stale(variable, touch))


def _misses(top: Region, placement: Placement, host: Touch, device: Touch) -> bool:
    """Return whether one comes too late, or too early, for what the other writes."""
    host_place, device_place = top.position[host.top.name], top.position[device.top.name]
    return (host.writes or device.writes) and is_stale(
        placement,
        host_reads=not host.writes,
        device_is_earlier=device_place < host_place,
        host_is_earlier=host_place < device_place,
    )


def _stale(variable: TouchedVariable, touch: Touch) -> StaleVariableWarning:
    does = "writes" if touch.writes else "reads"
    return StaleVariableWarning(
        f"A host cluster {does} the variable '{variable.name}', which the device program touches: "
        "neither sees in time what the other writes",
        place=operation_location(touch.op),
    )


def _cycle(
    variable: TouchedVariable, touch: Touch, placements: Mapping[str, Placement]
) -> tuple[Wait, ...]:
    """Return the cycle that closes when `touch`, awaited by the device, waits for the variable."""
    lock = f"variable '{variable.name}'"
    # Any one: the program takes all its variables when it starts.
    holder = operation_location(variable.on_device[0].op)
    held = f"held by the {DEVICE} program, which touches it, until that ends"
    lane = _lane(touch.region, touch.anchor)
    reason = f"waits for the variable '{variable.name}'"
    return closed_cycle(
        [Wait(lock, DEVICE, held, holder), *_waits(touch.region, placements)],
        Wait(lane, lock, reason, operation_location(touch.op)),
    )


def _waits(region: Region, placements: Mapping[str, Placement]) -> Iterator[Wait]:
    """Yield the waits of the device for awaited clusters, and of these for one another."""
    awaited = {name for name, placed in placements.items() if placed.when is Phase.AWAITED}
    for op in region.ops:
        for source in sources_of(op):
            if source.name not in awaited:
                continue
            # The device gives out what a tail takes.
            is_tail = op.name in placements and placements[op.name].is_last
            if region.cluster_of(op) is None or is_tail:
                yield _wait_of_device(region, source, op)
            elif op.name in awaited and region.cluster_of(op) != region.cluster_of(source):
                lane = _lane(region, source)
                yield Wait(_lane(region, op), lane, f"waits for {lane}", operation_location(op))
    for tensor in region.outputs:
        if tensor.op.name in awaited:
            yield _wait_of_device(region, tensor.op, tensor.op)


def _wait_of_device(region: Region, awaited: Operation, op: Operation) -> Wait:
    lane = _lane(region, awaited)
    return Wait(DEVICE, lane, f"waits for the result of {lane}", operation_location(op))


def _lane(region: Region, op: Operation) -> str:
    return f"host cluster {region.cluster_of(op)}"


def _with_followers(touch: Touch) -> set[Key]:
    """Return the keys of the operation of `touch` and of all host operations that need it."""
    region = touch.region
    followers: dict[str, list[Operation]] = defaultdict(list)
    for op in region.ops:
        if region.cluster_of(op) is not None:
            for source in sources_of(op):
                followers[source.name].append(op)
    following = reachable([touch.anchor], lambda op: followers[op.name], attrgetter("name"))
    return {key_of(region, op) for op in following}
