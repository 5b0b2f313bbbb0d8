"""No gradient goes through the outputs of a TPU computation: TensorFlow knows none, and says so."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.mark.attributes import string_list_attr

_GRADIENT = "TpulintReplicatedOutput"
_OUTPUTS = "_tpulint_outputs"
_MESSAGE = (
    "No gradient defined for operation'{}' (op type: TPUReplicatedOutput). In general every "
    "operation must have an associated `@tf.RegisterGradient` for correct autodiff, which this "
    "op is lacking. If you want to pretend this operation is a constant in your program, you "
    "may insert `tf.stop_gradient`. This can be useful to silence the error in cases where you "
    "know gradients are not needed, e.g. the forward pass of tf.custom_gradient. Please see "
    "more details in https://www.tensorflow.org/api_docs/python/tf/custom_gradient."
)


def undifferentiable(tensors: list[Any], marked: list[Any]) -> list[Any]:
    """`tensors`, which stand for the `marked` outputs, with their shapes.

    Their gradient is a LookupError, by `tf.gradients` and by a tape. One operation does it for
    all, since there may be many replicas.
    """
    if not tensors:
        return []
    refused = [tensor.op.inputs[0].op.name for tensor in marked]
    with tfi.default_graph().gradient_override_map({"IdentityN": _GRADIENT}):
        results = tf.identity_n(tensors, name="outputs")
    tfi.set_attr(results[0].op, _OUTPUTS, string_list_attr(refused))
    if tfi.is_recording():
        results = [
            _refusing_on_tape(tensor, name) if tensor.dtype.is_floating else tensor
            for tensor, name in zip(results, refused, strict=True)
        ]
    for result, tensor in zip(results, marked, strict=True):
        result.set_shape(tensor.shape)
    return list(results)


@tf.RegisterGradient(_GRADIENT)  # type: ignore[untyped-decorator]
def _gradient(op: Any, *gradients: Any) -> None:
    names = op.get_attr(_OUTPUTS)
    taken = [name for name, gradient in zip(names, gradients, strict=True) if _is_taken(gradient)]
    raise LookupError(_MESSAGE.format((taken or names)[0].decode()))


def _is_taken(gradient: Any) -> bool:
    """Whether it is a gradient, and not the zeros that stand for one that was not asked for."""
    return gradient is not None and not gradient.op.name.rsplit("/")[-1].startswith("zeros")


def _refusing_on_tape(tensor: Any, refused: str) -> Any:
    def gradient(*_: Any) -> None:
        raise LookupError(_MESSAGE.format(refused))

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def refusing(value: Any) -> Any:
        return tf.identity(value), gradient

    return refusing(tensor)
