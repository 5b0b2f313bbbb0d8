"""Writes that can let the copies of one variable differ: TensorFlow combines nothing there.

A strategy keeps a copy of each variable on every core. It combines the replicas' values where the
program asks for an `aggregation`; without one each core writes its own.
"""

from __future__ import annotations

from tpulint.ordering.truth import Truth, all3
from tpulint.runtime.extract.agreement import (
    Agreements,
    agreements,
    agreements_in_body,
    agreements_on_inputs,
)
from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.effects import is_resource, touches
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Graph, Operation, Region


def unsynchronized_writes(program: ReplicatedProgram) -> dict[str, Operation]:
    """Return, by variable, the first write of a value that may differ between replicas."""
    known: dict[Graph, dict[str, Truth]] = {}
    _add_agreements(program.region, agreements_on_inputs(program), known)
    writes: dict[str, Operation] = {}
    for touch in touches(program.region):
        if touch.on_host or not touch.writes or touch.variable not in program.mirrored:
            continue
        values = [tensor for tensor in touch.op.inputs if not is_resource(tensor)]
        of_graph = known[touch.region.graph]
        if any(of_graph.get(tensor.name) is Truth.NO for tensor in values):
            writes.setdefault(touch.variable, touch.op)
    return writes


def _add_agreements(
    region: Region, inputs: Agreements, known: dict[Graph, dict[str, Truth]]
) -> None:
    """Add the least agreements on the tensors of `region`, by its graph, and of its bodies.

    A function that is called twice may get values that differ at one of the calls only.
    """
    own = agreements(region, inputs)
    least = known.setdefault(region.graph, {})
    for name, truth in own.items():
        least[name] = all3([truth, least.get(name, Truth.YES)])
    for op in region.ops:
        for body in bodies(region, op):
            _add_agreements(body, agreements_in_body(region, op, body, own), known)
