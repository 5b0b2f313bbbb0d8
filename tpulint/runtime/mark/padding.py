"""Padding dynamic inputs of all replicas to one shape, as `maximum_shapes` asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime.errors import MaximumShapesError, as_fault
from tpulint.runtime.mark import attributes
from tpulint.runtime.mark.inputs import Inputs, in_place_of_components
from tpulint.runtime.tensorflow_internals import operations, tpu

Tensor = Any
PaddingSpec = tf.compat.v1.tpu.PaddingSpec

# XLA has no dynamic dimension of size 1.
_SMALLEST = 2


@dataclass(frozen=True)
class PaddedDimension:
    """Dimension `dimension` of flat input `input` is padded; input `size_input` is its size."""

    input: int
    dimension: int
    size_input: int


def flat_maximum_shapes(inputs: Inputs, maximum_shapes: Any) -> list[Any]:
    """Return a TensorShape for each flat input, None for components of composites (never padded).

    Raises:
        MaximumShapesError: the structure is not that of a replica's inputs, or a shape is none.
    """
    try:
        tpu.nest.assert_same_structure(inputs.structure, maximum_shapes, check_types=False)
        given = zip(
            tpu.nest.flatten(inputs.structure), tpu.nest.flatten(maximum_shapes), strict=False
        )
        shapes = tpu.nest.flatten([in_place_of_components(x, None, s) for x, s in given])
        shapes = [None if shape is None else tf.TensorShape(shape) for shape in shapes]
        tpu.nest.assert_same_structure(inputs.flat[0], shapes, check_types=False)
    except (ValueError, TypeError) as error:
        raise as_fault(MaximumShapesError, error) from None
    return shapes


def padded(
    flat: list[list[Tensor]], shapes: list[Any], spec: Any
) -> tuple[list[list[Tensor]], list[PaddedDimension]]:
    """Pad `flat[replica][i]` at the end, and append the real sizes (int32 scalars) as inputs.

    A dimension is padded when replicas differ in it statically or a later replica does not
    know it. So a single replica is never padded. A dimension without a maximum is padded to the
    largest size among the replicas; `PaddingSpec.POWER_OF_TWO` rounds that up.

    Raises:
        MaximumShapesError: an input has no rank, or a rank other than its maximum's.
    """
    try:
        return _padded(flat, shapes, spec)
    except (ValueError, TypeError, IndexError) as error:
        raise as_fault(MaximumShapesError, error) from None


def _padded(
    flat: list[list[Tensor]], shapes: list[Any], spec: Any
) -> tuple[list[list[Tensor]], list[PaddedDimension]]:
    needed, sizes = _needs_and_sizes(flat)
    largest = [tf.reduce_max(tf.stack(of_input), axis=0) for of_input in sizes]
    result = []
    dimensions: list[PaddedDimension] = []
    for replica, tensors in enumerate(flat):
        inputs: list[Tensor] = []
        real_sizes: list[Tensor] = []
        for i, tensor in enumerate(tensors):
            if shapes[i] is None or not any(needed[i]):
                inputs.append(tensor)
                continue
            size = sizes[i][replica]
            for dimension in np.flatnonzero(needed[i]).tolist():
                if replica == 0:
                    number = len(tensors) + len(dimensions)
                    dimensions.append(PaddedDimension(i, dimension, number))
                real_sizes.append(tf.cast(size[dimension], tf.int32))
            paddings = _paddings(shapes[i], needed[i], size, largest[i], spec)
            inputs.append(_pad(tensor, paddings))
        result.append(inputs + real_sizes)
    return result, dimensions


def _needs_and_sizes(flat: list[list[Tensor]]) -> tuple[list[Any], list[list[Tensor]]]:
    """Return for each input its padded dimensions, and its run-time shape in each replica."""
    largest = [tensor.shape.as_list() for tensor in flat[0]]
    needed = [np.full_like(shape, False, dtype=bool) for shape in largest]
    sizes: list[list[Tensor]] = [[] for _ in flat[0]]
    for replica, tensors in enumerate(flat):
        for i, tensor in enumerate(tensors):
            shape = tensor.shape.as_list()
            if replica:
                for dimension, size in enumerate(shape):
                    if size is None or size != largest[i][dimension]:
                        needed[i][dimension] = True
                # Lists compare by their first difference; TensorFlow compares them so.
                largest[i] = max(shape, largest[i])
            size = tf.shape(tensor)
            operations.set_attr(size.op, attributes.POST_DEVICE_REWRITE, attributes.bool_attr(True))
            sizes[i].append(size)
    return needed, sizes


def _paddings(shape: Any, needed: Any, size: Tensor, largest: Tensor, spec: Any) -> list[Any]:
    paddings: list[Any] = []
    for dimension, maximum in enumerate(shape.dims):
        if not needed[dimension]:
            paddings.append([0, 0])
            continue
        if maximum.value is not None:
            target = max(maximum.value, _SMALLEST)
        else:
            target = tf.maximum(largest[dimension], _SMALLEST)
            if spec == PaddingSpec.POWER_OF_TWO:
                target = _next_power_of_two(target)
        paddings.append([0, target - size[dimension]])
    return paddings


def _next_power_of_two(size: Tensor) -> Tensor:
    exponent = tf.math.log(tf.cast(size, tf.float32)) / tf.math.log(2.0)
    return tf.cast(tf.pow(2.0, tf.math.ceil(exponent)), tf.int32)


def _pad(tensor: Tensor, paddings: list[Any]) -> Tensor:
    if tensor.shape.is_fully_defined():
        # The conditional hides the static shape, or the compiler folds tf.shape of the input.
        result = tf.compat.v1.cond(
            tf.constant(True), lambda: tf.pad(tensor, paddings), lambda: tensor
        )
    else:
        result = tf.pad(tensor, paddings)
    operations.set_attr(result.op, attributes.POST_DEVICE_REWRITE, attributes.bool_attr(True))
    return result
