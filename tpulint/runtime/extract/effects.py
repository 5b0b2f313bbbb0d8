"""The effects of operations on resources: the handles they take, and their writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.runtime.extract.bodies import CASE, IF, WHILE, bodies, is_call
from tpulint.runtime.extract.region import Operation, Region, Tensor

READS = frozenset(
    {"ReadVariableOp", "VariableShape", "VarIsInitializedOp", "ResourceGather", "ResourceGatherNd"}
)


def is_resource(tensor: Tensor) -> bool:
    """Return whether `tensor` is a handle."""
    return bool(tensor.dtype.base_dtype.name == "resource")


def resources_of(op: Operation) -> tuple[str, ...]:
    """Return the names of the handles that `op` takes."""
    return tuple(dict.fromkeys(tensor.name for tensor in op.inputs if is_resource(tensor)))


def arguments(op: Operation) -> tuple[Tensor, ...]:
    """Return the tensors that a conditional, loop or call passes to its bodies, in their order."""
    return tuple(op.inputs)[1:] if op.type in IF | CASE else tuple(op.inputs)


def holds_bodies(op: Operation) -> bool:
    """Return whether `op` is a conditional, a loop or a call."""
    return op.type in WHILE | IF | CASE or is_call(op)


def writes(region: Region, op: Operation, resource: str) -> bool:
    """Return whether `op`, or a body in it, may write `resource`."""
    if not holds_bodies(op):
        return op.type not in READS and op.type != "Identity"
    places = [place for place, tensor in enumerate(arguments(op)) if tensor.name == resource]
    return any(
        inner.name in names and writes(body, user, inner.name)
        for body in bodies(region, op)
        for names in [{body.inputs[place] for place in places}]
        for user in body.ops
        for inner in user.inputs
    )


@dataclass(frozen=True, eq=False)
class Touch:
    """An access by `op` of the variable whose handle the computation knows as `variable`."""

    variable: str
    op: Operation
    region: Region
    """The region of `anchor`."""
    anchor: Operation
    """`op`, or the operation of a host cluster in whose body it is."""
    on_host: bool
    writes: bool
    top: Operation
    """The operation of the whole computation that `op` is, or is in."""


def touches(region: Region) -> Iterator[Touch]:
    """Return every access of a resource in `region` and the bodies under it, in program order."""
    known = {name: name for name in region.inputs}
    for op in region.ops:
        yield from _touches(region, op, known, None, op)


def _touches(
    region: Region,
    op: Operation,
    known: dict[str, str],
    host: tuple[Region, Operation] | None,
    top: Operation,
) -> Iterator[Touch]:
    """Yield the touches of `op`, of `region`, and add the handles that it returns to `known`."""
    anchor = host or ((region, op) if region.cluster_of(op) is not None else None)
    handles = [tensor.name for tensor in op.inputs if is_resource(tensor) and tensor.name in known]
    if holds_bodies(op):
        given = arguments(op)
        for body in bodies(region, op):
            inside = {
                inner: known[outer.name]
                for inner, outer in zip(body.inputs, given)
                if outer.name in known
            }
            for user in body.ops:
                yield from _touches(body, user, inside, anchor, top)
        if op.type in WHILE:
            passed = zip(op.outputs, given)
            known |= {out.name: known[arg.name] for out, arg in passed if arg.name in known}
    elif op.type == "Identity" and handles:
        known[op.outputs[0].name] = known[handles[0]]
    else:
        for name in dict.fromkeys(handles):
            where, at = anchor or (region, op)
            writes_it = op.type not in READS
            yield Touch(known[name], op, where, at, anchor is not None, writes_it, top)
