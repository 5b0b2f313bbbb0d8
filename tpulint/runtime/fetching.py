"""The error for a fetch of an operation inside a computation, which names the rule."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import UnfetchableError, as_fault
from tpulint.runtime.tensorflow_internals import patching, tracebacks

_GUARDED = "_tpulint_guards_fetches"


def guard_fetches(graph: Any) -> None:
    """Note that the operations of `graph` that cannot be fetched are those of computations."""
    setattr(graph, _GUARDED, True)


def fetches_checked() -> AbstractContextManager[None]:
    """Return a context in which `Session.run` raises an UnfetchableError for guarded graphs."""
    original = tf.Graph.is_fetchable

    @tracebacks.frames_hidden
    def is_fetchable(graph: Any, tensor_or_op: Any) -> bool:
        if original(graph, tensor_or_op):
            return True
        if getattr(graph, _GUARDED, False):
            raise _unfetchable(tensor_or_op)
        return False

    return patching.patched("tensorflow.python.framework.ops.Graph.is_fetchable", is_fetchable)


def _unfetchable(op: Any) -> UnfetchableError:
    return as_fault(
        UnfetchableError,
        tracebacks.InaccessibleTensorError(
            f"Operation {op.name} has been marked as not fetchable. Typically this happens when "
            "it is defined in another function or code block. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        ),
    )
