"""No gradient goes through the outputs of a TPU computation: TensorFlow knows none, and says so."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi

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


def undifferentiable(tensor: Any, marked: Any) -> Any:
    """`tensor`, which stands for the marked output `marked`, with its shape and name.

    Its gradient is a LookupError, by `tf.gradients` and by a tape.
    """
    refused = marked.op.inputs[0].op.name
    if tfi.is_recording() and tensor.dtype.is_floating:
        result = _refusing_on_tape(tensor, refused)
    else:
        with tfi.default_graph().gradient_override_map({"Identity": _GRADIENT}):
            result = tf.identity(tensor, marked.op.name)
        tfi.set_attr(result.op, _OUTPUT, tfi.string_attr(refused))
    result.set_shape(marked.shape)
    return result


@tf.RegisterGradient(_GRADIENT)  # type: ignore[untyped-decorator]
def _gradient(op: Any, *_: Any) -> None:
    raise LookupError(_MESSAGE.format(op.get_attr(_OUTPUT).decode()))


def _refusing_on_tape(tensor: Any, refused: str) -> Any:
    def gradient(*_: Any) -> None:
        raise LookupError(_MESSAGE.format(refused))

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def refusing(value: Any) -> Any:
        return tf.identity(value), gradient

    return refusing(tensor)
