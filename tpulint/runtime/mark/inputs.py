"""The inputs of `replicate`: checked, flattened, padded, and packed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime import errors
from tpulint.runtime.mark.marked import POST_DEVICE_REWRITE
from tpulint.runtime.tensorflow_internals import graphs, operations, tpu

Tensor = Any


@dataclass(frozen=True, eq=False)
class Inputs:
    """`flat[replica][i]` are tensors; a None input is a constant 0 there.

    `is_none[i]` and `is_composite[i]` describe flat input i in replica 0. `structure` is
    the structure of replica 0's inputs.
    """

    structure: Any
    flat: list[list[Tensor]]
    is_none: list[bool]
    is_composite: list[bool]


def check_is_per_replica(inputs: Any) -> None:
    """Raise `InputsNotPerReplicaError` unless `inputs` is a list of lists or tuples."""
    message = "tpu.replicate() inputs must be a list of lists/tuples, received "
    if not isinstance(inputs, list):
        raise errors.InputsNotPerReplicaError(f"{message}{type(inputs)}")
    if any(not isinstance(replica, (list, tuple)) for replica in inputs):
        raise errors.InputsNotPerReplicaError(f"{message}types: {[type(i) for i in inputs]}")


def flatten_inputs(inputs: list[Any]) -> Inputs:
    """Return `inputs`, one list a replica, with variables read and composites taken apart.

    Raise `UnequalInputsError` if structures or dtypes differ between replicas; it is also a
    TypeError where the types of the structures differ.
    """
    with errors.raised_as(errors.UnequalInputsError, ValueError, TypeError):
        for replica in inputs[1:]:
            tpu.nest.assert_same_structure(inputs[0], replica)
    inputs = tpu.convert_variables_to_tensors(inputs)
    flat = [tpu.nest.flatten(replica, expand_composites=True) for replica in inputs]
    is_composite = tpu.nest.flatten(
        tpu.nest.map_structure(lambda x: per_component(x, True, False), inputs[0])
    )
    tensors = [
        [tf.constant(0) if x is None else tf.convert_to_tensor(x) for x in replica]
        for replica in flat
    ]
    types = [[tensor.dtype for tensor in replica] for replica in tensors]
    for number, of_replica in enumerate(types):
        if of_replica != types[0]:
            raise errors.UnequalInputsError(
                "Replicas must have matching input types. Replica 0 had "
                f"input types {types[0]}, replica {number} had input types {of_replica}"
            )
    return Inputs(inputs[0], tensors, [x is None for x in flat[0]], is_composite)


def per_component(value: Any, for_component: Any, otherwise: Any) -> Any:
    """Return `otherwise`, or for a composite `value` one `for_component` per component."""
    if isinstance(value, tpu.CompositeTensor):
        return (for_component,) * len(tpu.nest.flatten(value, expand_composites=True))
    return otherwise


def check_arity(computation: Callable[..., Any], inputs: Inputs, infeed_queue: Any) -> None:
    """Raise `ArityError` unless `computation` can take `inputs` and what the queue adds.

    A bound method without defaults never can: TensorFlow counts its `self`.

    Raises:
        AttributeError: as above, and an input has no `name` to be listed by (TensorFlow's
            own message cannot be put together then).
    """
    arity = len(inputs.structure)
    needs = tpu.check_function_argument_count(computation, arity, infeed_queue)
    if needs is None:
        return
    message = (
        "Supplied computation cannot be called with the specified inputs. "
        f"You specified {arity} inputs: {[i.name for i in inputs.structure]}"
    )
    if infeed_queue is None:
        raise errors.ArityError(f"{message}, but the computation needs {needs}")
    # TensorFlow's message is a pair here, by a stray comma; it is kept as it prints.
    pair = (
        f"{message} ",
        f"and {infeed_queue.number_of_tuple_elements} additional inputs "
        f"from infeed, but the computation needs {needs}",
    )
    raise errors.ArityError(str(pair))


@errors.raised_as(errors.UnequalInputsError, ValueError)
def fan_in(flat: list[list[Tensor]]) -> list[Tensor]:
    """Return the fan-in: one `TPUReplicatedInput` for each flat input.

    Raise `UnequalInputsError` if the static shapes of one cannot be merged over the replicas.
    """
    with graphs.without_callbacks():
        return [
            tpu.tpu_ops.tpu_replicated_input(list(copies), name=f"input{number}")
            for number, copies in enumerate(zip(*flat, strict=True))
        ]


PaddingSpec = tf.compat.v1.tpu.PaddingSpec

# XLA has no dynamic dimension of size 1.
_SMALLEST = 2


@dataclass(frozen=True)
class PaddedDimension:
    """Dimension `dimension` of flat input `input` is padded; input `size_input` is its size."""

    input: int
    dimension: int
    size_input: int


@errors.raised_as(errors.MaximumShapesError, ValueError, TypeError)
def flat_maximum_shapes(inputs: Inputs, maximum_shapes: Any) -> list[Any]:
    """Return a TensorShape for each flat input, None for components of composites (never padded).

    Raises:
        MaximumShapesError: the structure is not that of a replica's inputs, or a shape is none.
    """
    tpu.nest.assert_same_structure(inputs.structure, maximum_shapes, check_types=False)
    pairs = zip(tpu.nest.flatten(inputs.structure), tpu.nest.flatten(maximum_shapes), strict=False)
    shapes = tpu.nest.flatten([per_component(x, None, s) for x, s in pairs])
    shapes = [None if shape is None else tf.TensorShape(shape) for shape in shapes]
    tpu.nest.assert_same_structure(inputs.flat[0], shapes, check_types=False)
    return shapes


@errors.raised_as(errors.MaximumShapesError, ValueError, IndexError)
def pad_inputs(
    flat: list[list[Tensor]], shapes: list[Any], spec: Any
) -> tuple[list[list[Tensor]], list[PaddedDimension]]:
    """Pad `flat[replica][i]` at the end, and append the real sizes (int32 scalars) as inputs.

    A dimension is padded when replicas differ in it statically or a later replica does not
    know it. So a single replica is never padded. A dimension without a maximum is padded to the
    largest size among the replicas; `PaddingSpec.POWER_OF_TWO` rounds that up.

    TensorFlow fails (TypeError) where the first replica knows a size that a later one does not.

    Raises:
        MaximumShapesError: an input has no rank, or a rank other than its maximum's.
    """
    needed = [_dimensions_to_pad(copies) for copies in zip(*flat, strict=True)]
    sizes = [[_run_time_shape(tensor) for tensor in tensors] for tensors in flat]
    largest = [tf.reduce_max(tf.stack(of_input), axis=0) for of_input in zip(*sizes, strict=True)]
    padded = [
        [] if shape is None else np.flatnonzero(needs).tolist()
        for shape, needs in zip(shapes, needed, strict=True)
    ]
    places = [(i, dimension) for i, dimensions in enumerate(padded) for dimension in dimensions]
    result = []
    for tensors, of_replica in zip(flat, sizes, strict=True):
        inputs = list(tensors)
        for i, dimensions in enumerate(padded):
            if dimensions:
                size = of_replica[i]
                inputs += [tf.cast(size[dimension], tf.int32) for dimension in dimensions]
                paddings = _paddings(shapes[i], needed[i], size, largest[i], spec)
                inputs[i] = _pad(tensors[i], paddings)
        result.append(inputs)
    return result, [
        PaddedDimension(*place, number) for number, place in enumerate(places, len(padded))
    ]


def _dimensions_to_pad(copies: Sequence[Tensor]) -> Any:
    """Return for each dimension whether `copies`, one input on each replica, are padded in it."""
    largest, *others = (tensor.shape.as_list() for tensor in copies)
    needed = np.full_like(largest, False, dtype=bool)
    for shape in others:
        for dimension, size in enumerate(shape):
            if size is None or size != largest[dimension]:
                needed[dimension] = True
        # Lists compare by their first difference; TensorFlow compares them so.
        largest = max(shape, largest)
    return needed


def _run_time_shape(tensor: Tensor) -> Tensor:
    shape = tf.shape(tensor)
    operations.set_attr(shape.op, POST_DEVICE_REWRITE, True)
    return shape


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
                exponent = tf.math.log(tf.cast(target, tf.float32)) / tf.math.log(2.0)
                target = tf.cast(tf.pow(2.0, tf.math.ceil(exponent)), tf.int32)
        paddings.append([0, target - size[dimension]])
    return paddings


def _pad(tensor: Tensor, paddings: list[Any]) -> Tensor:
    if tensor.shape.is_fully_defined():
        # The conditional hides the static shape, or the compiler folds tf.shape of the input.
        result = tf.compat.v1.cond(
            tf.constant(True), lambda: tf.pad(tensor, paddings), lambda: tensor
        )
    else:
        result = tf.pad(tensor, paddings)
    operations.set_attr(result.op, POST_DEVICE_REWRITE, True)
    return result
