"""Whether the replicas agree on tensors, and on their decisions about collectives.

They differ in what each has of its own, its inputs and its infeed, and in what depends on that.
They certainly agree on what follows from constants and shared inputs: all replicas leave a loop
that counts to a constant together, so that none of them can miss an operation in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tpulint.ordering.operations import AGREEMENTS, COLLECTIVES, INFEED_TAKES
from tpulint.ordering.truth import Truth, all3
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, bodies
from tpulint.runtime.extract.effects import arguments, is_resource
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.extract.segments import Side, side_of

Agreements = Mapping[str, Truth]
"""Whether all replicas have the same value of a tensor, by its name."""


def agreements_on_inputs(program: ReplicatedProgram) -> Agreements:
    """Return the agreements on the inputs of `program`, without handles."""
    return {
        name: Truth.YES if len({tensor.name for tensor in tensors}) == 1 else Truth.NO
        for name, tensors in program.boundary.items()
        if not is_resource(tensors[0])
    }


def agreements(region: Region, inputs: Agreements) -> Agreements:
    """Return the agreements on the tensors of `region`, given those on its inputs.

    The sum of a collective is the same everywhere, as far as it depends on data alone; what an
    infeed gives is each core's own. What a Python function on the host returns may be anything.
    """
    known = dict(inputs)
    for op in region.ops:
        if op.type in AGREEMENTS:
            continue
        least = all3(known.get(tensor.name, Truth.MAYBE) for tensor in op.inputs)
        if op.type in INFEED_TAKES:
            least = Truth.NO
        elif least is Truth.YES and not _is_computed_alike(region, op):
            least = Truth.MAYBE
        for tensor in op.outputs:
            # Rounding may depend on more than the inputs.
            is_sure = least is Truth.NO or _is_exact(tensor)
            known[tensor.name] = least if is_sure else Truth.MAYBE
    return known


def agreements_in_body(
    region: Region, op: Operation, body: Region, outer: Agreements
) -> Agreements:
    """Return the agreements on the inputs of `body`, of `op`, given those of `region`."""
    handed_in = [outer.get(tensor.name, Truth.MAYBE) for tensor in arguments(op)]
    if op.type in WHILE:
        handed_in = _in_every_round(bodies(region, op)[1], handed_in)
    return dict(zip(body.inputs, handed_in, strict=True))


def agreement_on_decision(region: Region, op: Operation, outer: Agreements) -> Truth:
    """Return whether all replicas take one branch of `op`, or make as many rounds of it."""
    if op.type in IF | CASE:
        return outer.get(op.inputs[0].name, Truth.MAYBE)
    condition = bodies(region, op)[0]
    inside = agreements(condition, agreements_in_body(region, op, condition, outer))
    return inside.get(condition.outputs[0].name, Truth.MAYBE)


def _in_every_round(body: Region, variables: list[Truth]) -> list[Truth]:
    """Return the agreements on a loop's variables, which a round may only make less."""
    while True:
        inside = agreements(body, dict(zip(body.inputs, variables, strict=True)))
        carried = [
            all3([before, inside.get(tensor.name, Truth.MAYBE)])
            for before, tensor in zip(variables, body.outputs, strict=True)
        ]
        if carried == variables:
            return variables
        variables = carried


def _is_computed_alike(region: Region, op: Operation) -> bool:
    is_exchanged = op.type in COLLECTIVES
    return not (op.op_def.is_stateful or is_exchanged) and side_of(region, op) is Side.DEVICE


def _is_exact(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_integer or tensor.dtype.is_bool)
