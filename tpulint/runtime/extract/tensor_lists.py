"""Tensor lists, arrays and stacks that cross from one segment to another.

Neither a tensor list (dtype variant) nor the handle of a TensorArray or stack of TensorFlow 1 can
enter or leave an XLA program. One that a cut separates from some of its users is kept out of
compiled programs, with all operations on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tpulint.runtime.extract.array_handles import array_handles
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.extract.segments import Segment, Side

_CREATORS = frozenset({"EmptyTensorList", "TensorListReserve", "TensorArrayV3", "StackV2"})


def created_late(
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
    reached: set[str] = set()
    unread = list(start)
    while unread:
        name = unread.pop()
        if name not in reached:
            reached.add(name)
            unread += neighbours.get(name, ())
    return reached
