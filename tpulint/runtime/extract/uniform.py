"""The tensors that provably have the same value in every replica.

All replicas leave a loop that counts to a constant together, so that none of them can miss an
operation in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.runtime.extract.bodies import CASE, IF, WHILE, bodies
from tpulint.runtime.extract.effects import arguments
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.extract.segments import Side, side_of


def uniform(region: Region, given: Iterable[str]) -> frozenset[str]:
    """Return the tensors of `region` that follow from constants and from its inputs named `given`.

    Only integers and booleans count, as rounding may depend on more than the inputs, and only
    those that a device computes, as a Python function on the host may return anything.
    """
    found = set(given)
    for op in region.ops:
        depends = op.op_def.is_stateful or any(tensor.name not in found for tensor in op.inputs)
        if not depends and side_of(region, op) is Side.DEVICE:
            found.update(tensor.name for tensor in op.outputs if _is_exact(tensor))
    return frozenset(found)


def uniform_inside(
    region: Region, op: Operation, body: Region, own: frozenset[str]
) -> frozenset[str]:
    """Return the inputs of `body`, of `op`, that are uniform if `region`'s named `own` are."""
    places = {place for place, tensor in enumerate(arguments(op)) if tensor.name in own}
    if op.type in WHILE:
        places = _kept(bodies(region, op)[1], places)
    return frozenset(name for place, name in enumerate(body.inputs) if place in places)


def decides_alike(region: Region, op: Operation, own: frozenset[str]) -> bool:
    """Return whether all replicas take the same branch of `op`, or make as many rounds of it."""
    if op.type in IF | CASE:
        return op.inputs[0].name in own
    condition = bodies(region, op)[0]
    inside = uniform_inside(region, op, condition, own)
    return condition.outputs[0].name in uniform(condition, inside)


def _kept(body: Region, places: set[int]) -> set[int]:
    """Return the loop variables among `places` that are uniform in every iteration."""
    while True:
        own = uniform(body, (body.inputs[place] for place in places))
        kept = {place for place in places if body.outputs[place].name in own}
        if kept == places:
            return places
        places = kept


def _is_exact(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_integer or tensor.dtype.is_bool)
