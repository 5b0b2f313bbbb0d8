"""The error for a fetch of an operation inside a computation, which names the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.runtime.errors import UnfetchableError, as_fault
from tpulint.runtime.tensorflow_internals.patching import patch_value
from tpulint.runtime.tensorflow_internals.tracebacks import InaccessibleTensorError, frames_hidden

_GUARDED = "_tpulint_guards_fetches"


def guard_fetches(graph: Any) -> None:
    """Note that the operations of `graph` that cannot be fetched are those of computations."""
    setattr(graph, _GUARDED, True)


@patch_value(
    "tensorflow.python.framework.ops.Graph.is_fetchable",
    why="a fetch of what a computation has not returned raises an error that names the rule",
)
def _check_fetches(original: Callable[..., bool]) -> Callable[..., bool]:
    @frames_hidden
    def is_fetchable(graph: Any, tensor_or_op: Any) -> bool:
        if original(graph, tensor_or_op):
            return True
        if getattr(graph, _GUARDED, False):
            raise _unfetchable(tensor_or_op)
        return False

    return is_fetchable


def _unfetchable(op: Any) -> UnfetchableError:
    return as_fault(
        UnfetchableError,
        InaccessibleTensorError(
            f"Operation {op.name} has been marked as not fetchable. Typically this happens when "
            "it is defined in another function or code block. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        ),
    )
