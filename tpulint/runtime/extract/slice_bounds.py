"""Bounds of slices, as in `x[:n]`, that follow from the arguments of a device program.

A TPU's compiler takes such a slice, of which it knows the largest size only. XLA for the CPU does
so too, but compiles few of the operations on the result (`x[:n] + y[:n]`: not in older releases)
and some of them wrongly (`tf.cumsum`). So these bounds, and only these, are known when a segment is
compiled, which is then compiled for each of their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tpulint.runtime.extract.bodies import WHILE, bodies
from tpulint.runtime.extract.effects import arguments, holds_bodies
from tpulint.runtime.extract.program_constants import OF_SHAPES, body_passes_on, has_no_effect
from tpulint.runtime.extract.region import Operation, Region, Tensor


@dataclass(frozen=True, eq=False)
class SliceBound:
    """The input `index` of `op`, computed by `ops` from `sources` that others give.

    `op` is a slice, or holds one in a body that gets the bound as an argument.
    """

    op: Operation
    index: int
    ops: dict[str, Operation] = field(default_factory=dict)
    sources: dict[str, Tensor] = field(default_factory=dict)

    @property
    def tensor(self) -> Tensor:
        """Return the bound."""
        return self.op.inputs[self.index]


def slice_bounds(region: Region, ops: Sequence[Operation]) -> Iterator[SliceBound]:
    """Yield the bounds of slices that are computed without effects from what `ops` take."""
    own = frozenset(op.name for op in ops)
    for op in ops:
        for index in _bound_inputs(region, op):
            bound = SliceBound(op, index)
            if _trace(region, own, bound):
                yield bound


def _trace(region: Region, own: frozenset[str], bound: SliceBound) -> bool:
    """Add what computes `bound`, as far as it is `own`, and return whether that has no effect."""
    unread = [bound.tensor]
    while unread:
        tensor = unread.pop()
        op = tensor.op
        if op.name not in own or op.type in OF_SHAPES:
            bound.sources[tensor.name] = tensor
        elif not has_no_effect(region, op):
            return False
        elif op.name not in bound.ops:
            bound.ops[op.name] = op
            unread += op.inputs
    return True


def _bound_inputs(region: Region, op: Operation) -> Sequence[int]:
    """Return the inputs of `op` that decide how large a slice is."""
    if op.type == "TopKV2":
        return [1]
    if op.type == "Slice":
        return [] if op.inputs[2].op.type == "Const" else [1, 2]
    if op.type == "StridedSlice":
        return [1, 2] if _has_ranges(op) else []
    if holds_bodies(op):
        first = len(op.inputs) - len(arguments(op))
        return [first + place for place in _bound_arguments(region, op)]
    return []


def _has_ranges(op: Operation) -> bool:
    """Return whether a slice has a bound in an axis, as in `x[:n]`, and not only indices."""
    size = op.inputs[1].shape.num_elements()
    single = op.get_attr("shrink_axis_mask") | op.get_attr("new_axis_mask")
    whole = op.get_attr("begin_mask") & op.get_attr("end_mask")
    without = single | whole | op.get_attr("ellipsis_mask")
    constant = all(bound.op.type == "Const" for bound in op.inputs[1:3])
    return not constant and (size is None or without & (2**size - 1) != 2**size - 1)


def _bound_arguments(region: Region, op: Operation) -> list[int]:
    """Return the places of the arguments of `op` that are bounds of slices in its bodies."""
    held = bodies(region, op)
    places = {
        body.inputs.index(name)
        for body in held
        for bound in slice_bounds(body, body.ops)
        for name in bound.sources
        if name in body.inputs
    }
    return sorted(
        place for place in places if op.type not in WHILE or body_passes_on(held[1], place)
    )
