"""Results of a compiled segment whose shapes XLA knows only by their bounds.

XLA:CPU keeps the sizes of such a tensor behind its values, and where one tensor is returned
twice (by name, through operations that change nothing, or because XLA sees that two are equal) it
copies the values alone: the second comes out empty, or as garbage. So several such tensors leave a
segment as large as their bounds, each with its shape, and are cut to that outside.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.extract.region import Tensor
from tpulint.runtime.tensorflow_internals import operations


def with_shapes(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
    """Return the results of a segment for `tensors`, and the indices of those to cut outside.

    The shapes of those come last.
    """
    open_ = [place for place, tensor in enumerate(tensors) if _may_be_bounded(tensor)]
    if len(open_) < 2:
        return list(tensors), []
    given = list(tensors)
    for place in open_:
        given[place] = _as_large_as_its_bounds(tensors[place])
    return [*given, *(tf.shape(tensors[place]) for place in open_)], open_


def cut_to_shapes(results: Sequence[Tensor], to_cut: Sequence[int]) -> list[Tensor]:
    """Return the tensors of a segment from its `results`, with those of `to_cut` cut to shape."""
    number = len(results) - len(to_cut)
    tensors = list(results[:number])
    for place, shape in zip(to_cut, results[number:], strict=True):
        tensors[place] = tf.slice(tensors[place], tf.zeros_like(shape), shape)
    return tensors


def _may_be_bounded(tensor: Tensor) -> bool:
    rank = tensor.shape.rank
    is_data = tensor.dtype not in (tf.resource, tf.variant)
    return bool(rank) and is_data and not tensor.shape.is_fully_defined()


def _as_large_as_its_bounds(tensor: Tensor) -> Tensor:
    for axis, size in enumerate(tensor.shape.as_list()):
        if size is None:
            tensor = operations.as_large_as_its_bound(tensor, axis)
    return tensor
