"""Writes that can let the copies of one variable differ: TensorFlow combines nothing there.

A strategy keeps a copy of each variable on every core. It combines the replicas' values where the
program asks for an `aggregation`; without one each core writes its own.
"""

from __future__ import annotations

from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.differing import differing, differing_inputs, differing_inside
from tpulint.runtime.extract.effects import is_resource, touches
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Graph, Operation, Region


def unsynchronized_writes(program: ReplicatedProgram) -> dict[str, Operation]:
    """Return, by variable, the first write of a value that may differ between replicas."""
    values: dict[Graph, frozenset[str]] = {}
    _add_differing(program.region, differing_inputs(program), values)
    writes: dict[str, Operation] = {}
    for touch in touches(program.region):
        if touch.on_host or not touch.writes or touch.variable not in program.mirrored:
            continue
        written = {tensor.name for tensor in touch.op.inputs if not is_resource(tensor)}
        if written & values[touch.region.graph]:
            writes.setdefault(touch.variable, touch.op)
    return writes


def _add_differing(
    region: Region, given: frozenset[str], values: dict[Graph, frozenset[str]]
) -> None:
    """Add the differing tensors of `region`, by its graph, and those of its bodies."""
    own = differing(region, given)
    values[region.graph] = values.get(region.graph, frozenset()) | own
    for op in region.ops:
        for body in bodies(region, op):
            _add_differing(body, differing_inside(region, op, body, own), values)
