"""A region divided into parts that run one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tpulint.runtime.extract.region import Operation, Region, Tensor


def part(region: Region, belongs: Callable[[Operation], bool]) -> Region:
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
        return region.leaves(tensor, own) or any(is_taken(op.outputs[0]) for op in passed_on)

    own = frozenset(op.name for op in region.ops if op.type != "Const" and belongs(op))
    with_constants = set(own)
    for op in reversed(region.ops):
        if op.name in with_constants:  # an operation that it only waits for stays where it is
            with_constants.update(each.op.name for each in op.inputs if is_everywhere(each.op))
    ops = tuple(op for op in region.ops if op.name in with_constants)
    taken = {
        tensor.name: tensor
        for op in ops
        for tensor in op.inputs
        if tensor.op.name not in with_constants
    }
    given = {
        tensor.name: tensor
        for op in ops
        if op.name in own
        for tensor in op.outputs
        if is_taken(tensor)
    }
    return replace(
        region,
        ops=ops,
        inputs=tuple(taken),
        outputs=tuple(given.values()),
        apart=_through_others(region, ops),
    )


def _through_others(region: Region, ops: tuple[Operation, ...]) -> dict[str, frozenset[str]]:
    """Return for each of `ops` those of them that it needs, also through others of `region`."""
    own = {op.name for op in ops}
    found: dict[str, frozenset[str]] = {}
    for op in region.ops:
        near = region.needs[op.name]
        far = [found[name] for name in near if name not in own]
        found[op.name] = frozenset[str]().union(near & own, *far)
    return {name: found[name] for name in own}
