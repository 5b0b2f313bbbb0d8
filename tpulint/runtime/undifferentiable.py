"""The refusal of gradients through the outputs of a TPU computation, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime.mark.attributes import string_attr
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.tensorflow_internals import gradients, graphs, operations

_GRADIENT = "TpulintReplicatedOutput"
_OUTPUT = "_tpulint_output"
_MESSAGE = (
    "No gradient defined for operation'{}' (op type: TPUReplicatedOutput). In general every "
    "operation must have an associated `@tf.RegisterGradient` for correct autodiff, which this "
    "op is lacking. If you want to pretend this operation is a constant in your program, you "
    "may insert `tf.stop_gradient`. This can be useful to silence the error in cases where you "
    "know gradients are not needed, e.g. the forward pass of tf.custom_gradient. Please see "
    "more details in https://www.tensorflow.org/api_docs/python/tf/custom_gradient."
)


def undifferentiable(
    executed: tuple[tuple[Any, ...], ...], marked: Marked, twins: list[list[Any]]
) -> list[list[Any]]:
    """Return the results `executed[replica][output]`, as the user gets them.

    A gradient by a source of the marked output is a LookupError, with `tf.gradients` and with a
    tape; by anything else it is None. `twins` are the marked results.
    """
    results: list[list[Any]] = [[] for _ in executed]
    for number, output in enumerate(marked.replicated_outputs):
        tensors = _as_one_operation([replica[number] for replica in executed], output)
        for replica, tensor in enumerate(tensors):
            result = tf.identity(tensor, name=f"output_{number}_shard_{replica}")
            result.set_shape(twins[replica][number].shape)
            results[replica].append(result)
    if gradients.is_recording():
        for ours, theirs in zip(results, twins, strict=True):
            gradients.pass_gradients_through(ours, theirs)
    return results


def undifferentiable_value(value: Any, symbol: Any) -> None:
    """Do the same for the eager `value` of the result `symbol` of a traced call."""
    if gradients.is_recording() and value.dtype.is_floating:
        op = symbol.op
        while op.type == "Identity":
            op = op.inputs[0].op
        message = _refusal(op)

        def refuse(*_: Any) -> None:
            raise LookupError(message)

        gradients.refused_on_tapes(value, symbol, refuse)


def _as_one_operation(tensors: list[Any], output: Any) -> list[Any]:
    """Return `tensors`, one a replica, passed through one operation, as by the marked `output`."""
    with graphs.default_graph().gradient_override_map({"IdentityN": _GRADIENT}):
        through: list[Any] = tf.identity_n(tensors)
    operations.set_attr(through[0].op, _OUTPUT, string_attr(output.name))
    gradients.reached_only_through(through[0].op, output)
    return through


@tf.RegisterGradient(_GRADIENT)  # type: ignore[untyped-decorator]
def _gradient(op: Any, *_: Any) -> None:
    raise LookupError(_refusal(op))


def _refusal(op: Any) -> str:
    return _MESSAGE.format(op.get_attr(_OUTPUT).decode())
