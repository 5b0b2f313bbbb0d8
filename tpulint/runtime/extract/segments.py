"""The segments of a region: device segments, host clusters, and operations that hold both.

A device segment is as large as the order of the operations allows: all device operations that
need nothing of a later cluster. So a cluster costs one crossing each way, not each operation.
Collectives of one kind that need the same segments are ready at the same moment, and are one
segment: so all gradients of a step cost one exchange.

Neither a tensor list (dtype variant) nor the handle of a TensorArray or stack of TensorFlow 1 can
enter or leave an XLA program. One that a cut separates from some of its users is kept out of
compiled programs, with all operations on it.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS, reachable
from tpulint.runtime.extract.bodies import (
    array_handles,
    bodies,
    body_of_function,
    crosses_to_the_host,
    is_call,
    walk_operations,
)
from tpulint.runtime.extract.copying import inputs_of
from tpulint.runtime.extract.kernels import needs_the_host
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.tensorflow_internals import graphs


def holds_idle_host_operations(region: Region, op: Operation) -> bool:
    """Return whether a body of `op`, at any depth, has unused operations that need the host."""
    return any(_has_idle_host_operations(body.graph) for body in bodies(region, op))


@graphs.cache_per_graph
def _has_idle_host_operations(graph: Any) -> bool:
    body = body_of_function(graph)
    in_use = body.names | {tensor.op.name for tensor in graph.inputs}
    idle = [op for op in graph.get_operations() if op.name not in in_use and op.type != "Const"]
    return any(
        not is_call(op) and needs_the_host(around, op) for around, op in walk_operations(body, idle)
    ) or any(holds_idle_host_operations(body, op) for op in body.ops)


class Side(enum.Enum):
    """The place where an operation runs.

    `PLAIN`: on the device, but not compiled (see `tensor_lists`, and `ONLY_OF_TPUS`).
    """

    DEVICE = "device"
    HOST = "host"
    PLAIN = "plain"
    CONTROL = "control"
    COLLECTIVE = "collective"
    FEED = "feed"


@dataclass(frozen=True, eq=False)
class Segment:
    """Operations of one side that run together; `cluster` is the host cluster's name."""

    side: Side
    ops: tuple[Operation, ...]
    cluster: str | None = None


def side_of(region: Region, op: Operation) -> Side:
    """Return the side that `op` is on by its marks."""
    if op.type in FEEDS:
        return Side.FEED
    if region.cluster_of(op) is not None:
        return Side.HOST
    if op.type in COLLECTIVES:
        return Side.COLLECTIVE
    if op.type in ONLY_OF_TPUS:
        return Side.PLAIN
    if crosses_to_the_host(region, op) or holds_idle_host_operations(region, op):
        return Side.CONTROL
    return Side.DEVICE


def cut_into_segments(
    ops: Iterable[Operation],
    before: Mapping[str, frozenset[str]],
    side: Callable[[Operation], Side],
    cluster: Callable[[Operation], str | None],
    kind: Callable[[Operation], Hashable],
) -> tuple[Segment, ...]:
    """Return the segments of `ops` in an order in which they can be built.

    `before` names, for each operation, those of `ops` that must come first; `kind` is the same for
    operations of which one segment is made where they need the same segments.
    """
    rest: dict[str, Operation] = {op.name: op for op in ops}
    done: dict[str, int] = {}
    numbers = itertools.count()
    segments: list[Segment] = []

    def take(fits: Callable[[Operation], bool]) -> tuple[Operation, ...]:
        taken = []
        number = next(numbers)
        for op in list(rest.values()):
            if before[op.name] <= done.keys() and fits(op):
                taken.append(rest.pop(op.name))
                done[op.name] = number
        return tuple(taken)

    def needs(op: Operation) -> frozenset[int]:
        return frozenset(done[name] for name in before[op.name])

    def next_other() -> Segment | None:
        ready = (op for op in rest.values() if before[op.name] <= done.keys())
        op = next((op for op in ready if side(op) is not Side.DEVICE), None)
        if op is None:
            return None
        if side(op) is Side.HOST:
            name = cluster(op)
            taken = take(lambda other: side(other) is Side.HOST and cluster(other) == name)
            return Segment(Side.HOST, taken, name)
        own, needed = kind(op), needs(op)
        return Segment(side(op), take(lambda other: kind(other) == own and needs(other) == needed))

    while rest:
        # Host clusters first: a device segment takes all that is ready, so the later it is cut the
        # larger it is.
        others = iter(next_other, None)
        segments += others
        taken = take(lambda op: side(op) is Side.DEVICE)
        if taken:
            segments.append(Segment(Side.DEVICE, taken))
        elif rest and not any(before[name] <= done.keys() for name in rest):
            raise AssertionError(f"cyclic order among {sorted(rest)[:5]}")
    return tuple(segments)


def part_of_region(region: Region, belongs: Callable[[Operation], bool]) -> Region:
    """Return the part of `region` with the operations that belong to it and their constants.

    Operations that only pass on a tensor on the device belong to every part, as constants do.
    Its outputs are the tensors that the rest of the region, or the region's outputs, take of it.
    """

    def is_everywhere(op: Operation) -> bool:
        hands_on = op.type == "Identity" and region.cluster_of(op) is None
        return op.name in region.names and (op.type == "Const" or hands_on)

    by_name = {op.name: op for op in region.ops}

    def is_taken(tensor: Tensor) -> bool:
        """Return whether another part takes `tensor`, or what it is passed on as."""
        users = region.used_by.get(tensor.name, frozenset()) & own
        passed_on = (by_name[name] for name in users if is_everywhere(by_name[name]))
        return region.is_used_outside(tensor, own) or any(
            is_taken(op.outputs[0]) for op in passed_on
        )

    own = frozenset(op.name for op in region.ops if op.type != "Const" and belongs(op))
    with_constants = set(own)
    for op in reversed(region.ops):
        if op.name in with_constants:  # an operation that it only waits for stays where it is
            with_constants.update(
                tensor.op.name for tensor in op.inputs if is_everywhere(tensor.op)
            )
    ops = tuple(op for op in region.ops if op.name in with_constants)
    outputs = {
        tensor.name: tensor
        for op in ops
        if op.name in own
        for tensor in op.outputs
        if is_taken(tensor)
    }
    return replace(
        region,
        ops=ops,
        inputs=tuple(inputs_of(ops)),
        outputs=tuple(outputs.values()),
        part_needs=_transitive_needs(region, ops),
    )


def _transitive_needs(region: Region, ops: tuple[Operation, ...]) -> dict[str, frozenset[str]]:
    """Return for each of `ops` those of them that it needs, also through others of `region`."""
    own = {op.name for op in ops}
    sources: dict[str, frozenset[str]] = {}
    for op in region.ops:
        near = region.needs[op.name]
        far = [sources[name] for name in near if name not in own]
        sources[op.name] = frozenset[str]().union(near & own, *far)
    return {name: sources[name] for name in own}


_CREATORS = frozenset({"EmptyTensorList", "TensorListReserve", "TensorArrayV3", "StackV2"})


def create_lists_late(
    segments: Sequence[Segment], before: Mapping[str, frozenset[str]]
) -> tuple[Segment, ...]:
    """Return `segments` with each list created in the first that needs it, if that is compiled.

    `before` names for each operation those that must run before it.
    """
    segment_of = {op.name: place for place, segment in enumerate(segments) for op in segment.ops}
    creators = {op.name for segment in segments for op in segment.ops if op.type in _CREATORS}
    first: dict[str, int] = {}
    for name, place in segment_of.items():
        for creator in before[name] & creators:
            first[creator] = min(place, first.get(creator, place))
    # Created elsewhere it would have to enter the program, which no list can.
    moved = {
        creator: place for creator, place in first.items() if segments[place].side is Side.DEVICE
    }
    by_name = {op.name: op for segment in segments for op in segment.ops}
    late = [
        replace(
            segment,
            ops=(
                *(by_name[creator] for creator, to in moved.items() if to == place),
                *(op for op in segment.ops if op.name not in moved),
            ),
        )
        for place, segment in enumerate(segments)
    ]
    return tuple(segment for segment in late if segment.ops)


def operations_on_crossing_lists(region: Region, segments: Iterable[Segment]) -> frozenset[str]:
    """Return the names of the operations on lists that leave the segment that made them."""
    handles = array_handles(region)

    def is_list(tensor: Tensor) -> bool:
        return tensor.dtype.base_dtype.name == "variant" or tensor.name in handles

    segment_of = {op.name: place for place, segment in enumerate(segments) for op in segment.ops}
    lists = [(op, tensor) for op in region.ops for tensor in op.inputs if is_list(tensor)]
    crossing = [
        tensor.op.name
        for op, tensor in lists
        if segment_of.get(op.name) != segment_of.get(tensor.op.name)
    ]
    crossing += [tensor.op.name for tensor in region.outputs if is_list(tensor)]
    crossing += [op.name for op, tensor in lists if tensor.name in region.inputs]
    return frozenset(_connected(lists, crossing) & region.names)


def _connected(lists: Iterable[tuple[Operation, Tensor]], start: Iterable[str]) -> set[str]:
    """Return the operations that `lists`, each with a user, connect with those named in `start`."""
    neighbours: dict[str, set[str]] = {}
    for op, tensor in lists:
        neighbours.setdefault(op.name, set()).add(tensor.op.name)
        neighbours.setdefault(tensor.op.name, set()).add(op.name)
    return set(reachable(start, lambda name: neighbours.get(name, ())))
