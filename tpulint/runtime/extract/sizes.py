"""Dynamic dimensions of a region's inputs that are cut to their sizes before the device takes them.

XLA knows a padded dimension by its bound, and its size by an argument. In older releases XLA for
the CPU compiles no operation of two tensors whose sizes are two arguments, equal or not ("Fail to
proof the equality of two dimensions at compile time"); a TPU's compiler takes them for equal. With
these releases the device program is compiled for the sizes that its inputs have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.tensorflow_internals import operations


@dataclass(frozen=True, eq=False)
class DynamicSize:
    """Dimension `dimension` of the region's input `name` has the size that `size` names."""

    name: str
    dimension: int
    size: str


def is_cut(op: Operation) -> bool:
    """Return whether `op` says the size of a dimension that is cut to it."""
    return op.type == "XlaSetDynamicDimensionSize" and operations.compiler_compares_sizes()


def cut_sizes(region: Region) -> Iterator[DynamicSize]:
    """Yield the dimensions of the inputs of `region` that are cut."""
    for op in region.ops:
        if is_cut(op):
            tensor = op.inputs[0]
            while tensor.op.type == op.type:
                tensor = tensor.op.inputs[0]
            dimension = int(tf.get_static_value(op.inputs[1]))
            yield DynamicSize(tensor.name, dimension, op.inputs[2].name)


def cut(tensor: Tensor, dimension: int, size: Tensor) -> Tensor:
    """Return the first `size` slices of `tensor` along `dimension`."""
    shape = tf.shape(tensor)
    sizes = tf.tensor_scatter_nd_update(shape, [[dimension]], [tf.reshape(size, [])])
    return tf.slice(tensor, tf.zeros_like(shape), sizes)
