"""The operations that a segment waits for, apart from its inputs."""

from __future__ import annotations

from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.region import Operation
from tpulint.runtime.extract.segments import Segment
from tpulint.runtime.schedule.plan import Plan


def waits_of(
    planned: Plan, op: Operation, own: frozenset[str], images: TensorMap
) -> list[Operation]:
    """Return the operations outside its segment that `op` waits for, apart from its inputs."""
    if op.name not in planned.before or op.type == "Const":
        return []
    data = {tensor.op.name for tensor in op.inputs}
    earlier = planned.before[op.name]
    waits_for = [images.operations[name] for name in sorted(earlier - own - data)]
    return waits_for if earlier else [*waits_for, *images.entry]


def all_wait_for(
    planned: Plan, segment: Segment, own: frozenset[str], images: TensorMap
) -> list[Operation]:
    """Return the operations outside `segment` that any of its operations waits for."""
    waits = [waits_of(planned, op, own, images) for op in segment.ops]
    return list({op.name: op for each in waits for op in each}.values())
