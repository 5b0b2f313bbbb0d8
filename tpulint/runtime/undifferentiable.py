"""No gradient goes through the outputs of a TPU computation: TensorFlow knows none, and says so."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.mark.marked import Marked, Ran

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


def undifferentiable(ran: Ran, marked: Marked) -> Ran:
    """`ran` with outputs whose gradient is a LookupError, by `tf.gradients` and by a tape."""
    names = [op.name for op in marked.replicated_outputs]
    graph = tfi.default_graph()
    with graph.gradient_override_map({"Identity": _GRADIENT}):
        outputs = tuple(
            tuple(_refusing(tensor, name) for tensor, name in zip(replica, names, strict=True))
            for replica in ran.outputs
        )
    return Ran(outputs, ran.done)


def _refusing(tensor: Any, name: str) -> Any:
    if not tensor.dtype.is_floating:
        return tensor
    if tfi.is_recording():
        return _refusing_on_tape(tensor, name)
    refusing = tf.identity(tensor)
    tfi.set_attr(refusing.op, _OUTPUT, tfi.string_attr(name))
    return refusing


@tf.RegisterGradient(_GRADIENT)  # type: ignore[untyped-decorator]
def _gradient(op: Any, *_: Any) -> None:
    raise LookupError(_MESSAGE.format(op.get_attr(_OUTPUT).decode()))


def _refusing_on_tape(tensor: Any, name: str) -> Any:
    def gradient(*_: Any) -> None:
        raise LookupError(_MESSAGE.format(name))

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def refusing(value: Any) -> Any:
        return tf.identity(value), gradient

    return refusing(tensor)
