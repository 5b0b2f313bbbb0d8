"""Control-flow contexts, and the class that TensorFlow accepts for a TPU computation's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    control_flow_ops,
    tensorflow_tpu,
    tpu_function,
    tpu_replication,
)
from tpulint.runtime.tensorflow_internals.patching import patched

Graph = Any

ControlFlowContext = control_flow_ops.ControlFlowContext
XLAControlFlowContext = control_flow_ops.XLAControlFlowContext
shard_context = tpu_function.tpu_shard_context


def register_replicate_context(context_class: type[Any]) -> None:
    """Make `isinstance(c, TPUReplicateContext)` in TensorFlow's own code accept `context_class`.

    TPUStrategy's variables find their context that way. TensorFlow's class is an ABC.
    """
    tpu_replication.TPUReplicateContext.register(context_class)
    if hasattr(tensorflow_tpu, "TPUReplicateContext"):  # a second class of that name, in 2.12
        tensorflow_tpu.TPUReplicateContext.register(context_class)


def context_of(graph_or_op: Any) -> Any:
    """Return the control-flow context of a graph now, or in which an operation was made."""
    return graph_or_op._get_control_flow_context()


def set_context(graph: Graph, context: Any) -> None:
    """Put `graph` into `context`."""
    graph._set_control_flow_context(context)


def contexts_outwards(context: Any) -> Iterator[Any]:
    """Yield `context` and the contexts around it in the same graph, innermost first."""
    while context is not None:
        yield context
        context = context.outer_context


def is_while(context: Any) -> bool:
    """Return whether `context` is of a loop of TensorFlow 1."""
    return bool(context.IsWhileContext())


def is_cond_or_while(context: Any) -> bool:
    """Return whether `context` is of a loop or of a branch of a conditional of TensorFlow 1."""
    return bool(context.IsWhileContext() or context.IsCondContext())


def control_flow_v2() -> AbstractContextManager[None]:
    """Return a context in which `tf.cond` and `tf.while_loop` make operations of TensorFlow 2."""
    return patched("tensorflow.python.ops.control_flow_util.ENABLE_CONTROL_FLOW_V2", True)
