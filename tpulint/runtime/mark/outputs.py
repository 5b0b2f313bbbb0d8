"""The results of the computation: checked, converted to tensors, tied to the computation."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import OutputOrderError
from tpulint.runtime.mark import attributes
from tpulint.runtime.tensorflow_internals import tpu
from tpulint.runtime.tensorflow_internals.operations import set_attr


@dataclass(frozen=True, eq=False)
class Outputs:
    """Flat `tensors` (None stays None), `operations` that run too, the `structure` to pack."""

    tensors: list[Any]
    operations: list[Any]
    structure: Any


def processed(returned: Any, by_device: bool) -> Outputs:
    """Return the outputs of a computation that returned `returned`.

    `by_device` places each output on its own device, or core 0 where it has none.

    Raises:
        OutputOrderError: an operation comes before a tensor, or is in a nested structure.
        ValueError: a value is neither an operation nor convertible to a tensor.
    """
    if tpu.is_flat(returned):
        return _flat(returned, by_device)
    return _nested(returned, by_device)


def _flat(returned: Any, by_device: bool) -> Outputs:
    # A flat return value comes back as a list, even a single one: TensorFlow's legacy.
    returned = () if returned is None else returned
    structure = tpu.nest.flatten(returned, expand_composites=False)
    values = tpu.nest.flatten(returned, expand_composites=True)
    # Fetching any output must run the whole computation.
    values += (tf.no_op(),)
    try:
        with tf.device(tpu.core(0)) if by_device else nullcontext():
            values = [_tensor_or_operation(value) for value in values]
    except Exception as error:
        raise ValueError(
            "TPU function return values must all either be Operations or "
            f"convertible to Tensors. Got error: {error}"
        ) from error
    operations = [value for value in values if isinstance(value, tf.Operation)]
    tensors = [value for value in values if not isinstance(value, tf.Operation)]
    if any(isinstance(value, tf.Operation) for value in values[: len(tensors)]):
        raise OutputOrderError(
            "TPU functions must return zero-or more Tensor values followed by "
            "zero or more Operations."
        )
    if len(operations) > 1:
        structure = structure[: 1 - len(operations)]
    tied = [None if tensor is None else _tied(tensor, by_device) for tensor in tensors]
    return Outputs(tied, operations, structure)


def _nested(returned: Any, by_device: bool) -> Outputs:
    values = tpu.nest.flatten(returned, expand_composites=True)
    tensors = [None if value is None else _nested_output(value, by_device) for value in values]
    return Outputs(tensors, [], returned)


def _nested_output(value: Any, by_device: bool) -> Any:
    if isinstance(value, tf.Operation):
        raise OutputOrderError(
            "tpu.rewrite does not support Operation as return value in non-flat output "
            "structure. You can set returned Operations as control dependencies of returned "
            "Tensors so Operations are triggered when Tensors are evaluated. Operation found: "
            f'"{value.name}"'
        )
    try:
        tensor = tf.convert_to_tensor(value)
    except Exception as error:
        raise ValueError(
            "TPU function return values must all either be Operations or "
            f'convertible to Tensors. Got error: "{error}"'
        ) from error
    tied = _tied(tensor, by_device)
    with tf.device(tensor.device or tpu.core(0)) if by_device else nullcontext():
        return tf.identity(tied)


def _tensor_or_operation(value: Any) -> Any:
    if value is None or isinstance(value, tf.Operation):
        return value
    return tf.convert_to_tensor(value)


def _tied(tensor: Any, by_device: bool) -> Any:
    """Return `tensor` through an Identity, so that no input bypasses the computation."""
    with tf.device(tensor.device or tpu.core(0)) if by_device else nullcontext():
        tied = tf.identity(tensor)
    set_attr(tied.op, attributes.OUTPUT_IDENTITY, attributes.bool_attr(True))
    return tied
