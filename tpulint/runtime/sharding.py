"""`shard` and its kin: tensors cut along an axis, a piece for each replica, results joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.replicate import split_compile_and_replicate
from tpulint.runtime.tensorflow_internals import tracebacks


@tracebacks.builder
def shard(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `computation` on `num_shards` replicas, each with its piece of each input.

    Input i is split along `input_shard_axes[i]` (0 by default), output i is concatenated along
    `output_shard_axes[i]` (a scalar is stacked), or is shard 0's where
    `outputs_from_all_shards[i]` is false. `name` does nothing.

    Raises:
        ValueError: `num_shards` is not positive, or a list has not one element an input or output.
        TypeError: `inputs` is no list.
        The errors of `replicate`.
    """
    return split_compile_and_shard(
        computation,
        inputs,
        num_shards,
        input_shard_axes,
        outputs_from_all_shards,
        output_shard_axes,
        infeed_queue,
        device_assignment,
        name,
        xla_options,
    )[1]


@tracebacks.builder
def split_compile_and_shard(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> tuple[Any, list[Any]]:
    """Run `shard`, and return (compilation status, results)."""
    status, outputs = split_compile_and_replicate(
        computation,
        _pieces(inputs, num_shards, input_shard_axes),
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
        xla_options=xla_options,
    )
    if outputs[0] is None or isinstance(outputs[0], tf.Operation):
        return status, [outputs[0]]
    return status, _joined(outputs, output_shard_axes, outputs_from_all_shards)


@tracebacks.builder
def batch_parallel(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `shard` along the batch dimension, dimension 0, of all inputs and outputs."""
    return shard(
        computation,
        inputs,
        num_shards=num_shards,
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
        xla_options=xla_options,
    )


def _pieces(inputs: Any, num_shards: int, axes: Sequence[int] | None) -> list[list[Any]]:
    """Return the inputs of each replica."""
    if num_shards <= 0:
        raise ValueError(f"num_shards must be a positive integer. Received {num_shards}")
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise TypeError(
            f"tpu.shard()'s inputs must be a list of Tensors or None. Received {type(inputs)}"
        )
    tensors = [tf.convert_to_tensor(value) for value in inputs]
    axes = [0] * len(tensors) if axes is None else axes
    if len(tensors) != len(axes):
        raise ValueError(
            "Length of input_shard_axes must be equal to the number of inputs. Received "
            f"{len(tensors)} inputs and {len(axes)} input_shard_axes."
        )
    if not tensors:
        return [[]] * num_shards
    split = [
        tf.split(tensor, num_shards, axis=axis) for axis, tensor in zip(axes, tensors, strict=True)
    ]
    return [list(of_replica) for of_replica in zip(*split, strict=True)]


def _joined(
    outputs: list[Any], axes: Sequence[int] | None, from_all: bool | Sequence[bool]
) -> list[Any]:
    """Return the replicas' outputs, joined one by one."""
    number = len(outputs[0])
    axes = [0] * number if axes is None else axes
    if number != len(axes):
        raise ValueError(
            "Length of output_shard_axes must be equal to the number of outputs. Received "
            f"{number} outputs and {len(axes)} output_shard_axes."
        )
    flags = [from_all] * number if isinstance(from_all, bool) else from_all
    if number != len(flags):
        raise ValueError(
            "Length of outputs_from_all_shards must be equal to the number of outputs. Received "
            f"{number} outputs  and {len(flags)} outputs_from_all_shards."
        )
    return [
        _join(pieces, axis) if whole else pieces[0]
        for axis, whole, pieces in zip(axes, flags, zip(*outputs, strict=True), strict=True)
    ]


def _join(pieces: Sequence[Any], axis: int) -> Any:
    if pieces[0].shape.ndims == 0:
        return tf.stack(list(pieces))
    return tf.concat(list(pieces), axis=axis)
