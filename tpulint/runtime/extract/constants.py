"""The values of tensors that the compiler knows: constants, and what is computed from them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.tensorflow_internals import graphs


def constant_value(tensor: Tensor) -> Any:
    """Return the value of `tensor` as an array, or None if it depends on data.

    The inputs of a computation are data, whatever they are.

    `tf.get_static_value` knows constants, also captured ones, and a few operations on them. The
    compiler evaluates all others, too: the gradient of a permutation slices its pairs.
    """
    value = tf.get_static_value(tensor)
    op = tensor.op
    if value is not None or not op.inputs:
        return value
    if op.op_def.is_stateful or op.type == "TPUReplicatedInput":
        return None
    inputs = [constant_value(argument) for argument in op.inputs]
    compute = getattr(tf.raw_ops, op.type, None)
    if compute is None or any(argument is None for argument in inputs):
        return None
    with graphs.eager_mode():
        results = compute(**dict(_arguments(op, inputs)), **_attributes(op, compute))
    return tf.nest.flatten(results)[tensor.value_index].numpy()


def _arguments(op: Operation, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of `op` by name; an argument that is a list takes several of `values`."""
    for argument in op.op_def.input_arg:
        if argument.number_attr:
            count = op.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(op.get_attr(argument.type_list_attr))
        else:
            yield argument.name, values.pop(0)
            continue
        yield argument.name, [values.pop(0) for _ in range(count)]


def _attributes(op: Operation, compute: Any) -> dict[str, Any]:
    """Return the attributes that `compute` takes: it infers the others from its arguments."""
    inputs = {argument.name for argument in op.op_def.input_arg}
    names = inspect.signature(compute).parameters.keys() - inputs - {"name"}
    return {name: op.get_attr(name) for name in names}
