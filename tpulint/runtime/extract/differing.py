"""The tensors whose values may differ between replicas.

They depend on what each replica has of its own: its inputs and its infeed.
"""

from __future__ import annotations

from tpulint.runtime.extract.bodies import COLLECTIVES, WHILE, bodies
from tpulint.runtime.extract.effects import arguments, is_resource
from tpulint.runtime.extract.feeds import TAKES
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region


def differing_inputs(program: ReplicatedProgram) -> frozenset[str]:
    """Return the inputs of `program` of which each replica has its own, without handles."""
    return frozenset(
        name
        for name, tensors in program.boundary.items()
        if not is_resource(tensors[0]) and len({tensor.name for tensor in tensors}) > 1
    )


def differing(region: Region, given: frozenset[str]) -> frozenset[str]:
    """Return the names of the tensors of `region` that depend on its inputs named `given`.

    The result of a collective is the same everywhere; that of an infeed is each core's own.
    """
    own = set(given)
    for op in region.ops:
        if op.type in COLLECTIVES:
            continue
        if op.type in TAKES or any(tensor.name in own for tensor in op.inputs):
            own.update(tensor.name for tensor in op.outputs)
    return frozenset(own)


def differing_inside(
    region: Region, op: Operation, body: Region, own: frozenset[str]
) -> frozenset[str]:
    """Return the inputs of `body`, of `op`, that may differ between replicas."""
    places = {place for place, tensor in enumerate(arguments(op)) if tensor.name in own}
    if op.type in WHILE:
        places = _carried(bodies(region, op)[1], places)
    return frozenset(name for place, name in enumerate(body.inputs) if place in places)


def _carried(body: Region, places: set[int]) -> set[int]:
    """Return `places` of a loop's variables, and those that depend on them in later iterations."""
    while True:
        names = frozenset(body.inputs[place] for place in places)
        own = differing(body, names)
        more = {place for place, tensor in enumerate(body.outputs) if tensor.name in own}
        if more <= places:
            return places
        places = places | more
