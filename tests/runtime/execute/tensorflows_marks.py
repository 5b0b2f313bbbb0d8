"""Marked computations made by TensorFlow's own `tpu.replicate`, for the tests of the execution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import driver
from tpulint.runtime.emulator import Options
from tpulint.runtime.mark.marked import Marked, StepOutputs

outside_compilation = tf.compat.v1.tpu.outside_compilation


def marked_by_tensorflow(
    computation: Callable[..., Any], inputs: Sequence[Sequence[Any]] = ((),)
) -> Marked:
    """Mark `computation` in the current `tf.Graph`; `inputs` has a list for each replica."""
    graph = tf.compat.v1.get_default_graph()
    names = {op.name for op in graph.get_operations()}
    tf.compat.v1.tpu.replicate(computation, [list(replica_inputs) for replica_inputs in inputs])
    copied = [op for op in graph.get_operations() if op.name not in names]
    of_type = {
        kind: tuple(op for op in copied if op.type == kind)
        for kind in ("TPUReplicatedInput", "TPUReplicatedOutput", "TPUReplicateMetadata")
    }
    metadata = of_type["TPUReplicateMetadata"][0]
    cluster = metadata.get_attr("_tpu_replicate")
    return Marked(
        graph=graph,
        cluster=cluster.decode(),
        num_replicas=len(inputs),
        replicated_inputs=of_type["TPUReplicatedInput"],
        outputs=tuple(op.inputs[0] for op in of_type["TPUReplicatedOutput"]),
        replicated_outputs=of_type["TPUReplicatedOutput"],
        control_outputs=tuple(op for op in copied if b"_tpu_replicate" in _attrs(op)),
        metadata=metadata,
    )


def _attrs(op: Any) -> set[bytes]:
    return {name.encode() for name in op.node_def.attr}


def ran(
    computation: Callable[..., Any],
    inputs: Sequence[Sequence[Any]] = ((),),
    options: Options | None = None,
) -> StepOutputs:
    """Build the step of `computation` in the current graph."""
    return run_marked(marked_by_tensorflow(computation, inputs), options)


def run_marked(marked: Marked, options: Options | None = None) -> StepOutputs:
    """Build the step of `marked` in the current graph."""
    return driver.run_marked(marked, options or Options())
