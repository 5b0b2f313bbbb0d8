"""Tensor lists (dtype variant) that cross from one segment to another.

A tensor list cannot enter or leave an XLA program. One that a cut separates from some of its users
is kept out of compiled programs, with all operations on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.extract.segments import Segment


def operations_on_crossing_lists(region: Region, segments: Iterable[Segment]) -> frozenset[str]:
    """Return the names of the operations on tensor lists that leave the segment that made them."""
    piece_of = {op.name: place for place, segment in enumerate(segments) for op in segment.ops}
    crossing = [
        tensor.op
        for op in region.ops
        for tensor in op.inputs
        if _is_list(tensor) and piece_of.get(op.name) != piece_of.get(tensor.op.name)
    ]
    crossing += [tensor.op for tensor in region.outputs if _is_list(tensor)]
    crossing += [op for op in region.ops if any(_is_given(region, one) for one in op.inputs)]
    return _connected(region, crossing)


def _connected(region: Region, start: Iterable[Operation]) -> frozenset[str]:
    """Return the operations of `region` that tensor lists connect with those of `start`."""
    neighbours: dict[str, set[str]] = {}
    for op in region.ops:
        for tensor in op.inputs:
            if _is_list(tensor):
                neighbours.setdefault(op.name, set()).add(tensor.op.name)
                neighbours.setdefault(tensor.op.name, set()).add(op.name)
    found: set[str] = set()
    unread = [op.name for op in start]
    while unread:
        name = unread.pop()
        if name not in found:
            found.add(name)
            unread += neighbours.get(name, ())
    return frozenset(found & region.names)


def _is_given(region: Region, tensor: Tensor) -> bool:
    return _is_list(tensor) and tensor.name in region.inputs


def _is_list(tensor: Tensor) -> bool:
    return bool(tensor.dtype.base_dtype.name == "variant")
