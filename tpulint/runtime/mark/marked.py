"""The arguments of one `replicate()`, and the result of marking it, which is passed on.

Marking builds, in `Marked.graph`, the very nodes that TensorFlow builds; none of the
TPU operations among them has a CPU kernel, so they never run. The executing side reads them:

    tpulint.runtime.driver.run_marked(marked: Marked, options: Options) -> StepOutputs

It is called once for each `replicate()`, at its end, in the user's graph (a plain `tf.Graph`,
or the `FuncGraph` of the user's `tf.function`; an eager call has been traced into one), in the
user's control-flow context and control dependencies, with no device, under the absolute name
scope "tpulint/". All operations that it makes for a plain `tf.Graph` stay there, unmarked.

The graphs of the tensors:

- Without `in_function`: `graph` is the user's own. Tensors that the cluster takes from outside
  (the inputs, and what it captures lexically) are the user's tensors and can be used as they are.
- With `in_function`: `graph` is a scratch `FuncGraph` of its own. It captures the user's
  tensors: `graph.captures` pairs (user's tensor, placeholder in `graph`), and operations of
  `graph` outside the cluster (padding, conversions of inputs) are computed from those. Variables
  are captured by their handles.

The results of `run_marked` replace the marked `TPUReplicatedOutput`s, which cannot be fetched.
The API packs them as TensorFlow packs its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals import graphs

REPLICATE = "_tpu_replicate"
OUTSIDE = "_xla_outside_compilation"
MAP_OUTSIDE = "_xla_map_outside_compilation"
PIVOT = "_pivot_for_cluster"
INPUT_IDENTITY = "_tpu_input_identity"
OUTPUT_IDENTITY = "_tpu_output_identity"
POST_DEVICE_REWRITE = "_post_device_rewrite"
COMPILATION_STATUS = "_tpu_compilation_status"
HOST_COMPUTE_CORE = "host_compute_core"
MARKS = (REPLICATE, OUTSIDE, MAP_OUTSIDE, INPUT_IDENTITY, OUTPUT_IDENTITY, POST_DEVICE_REWRITE)
_BOUNDARY = frozenset({"TPUReplicatedInput", "TPUReplicatedOutput"})


def is_marked(op: tf.Operation) -> bool:
    """Return whether `op` belongs to a computation or its boundary, or is its pivot."""
    attrs = op.node_def.attr
    return op.type in _BOUNDARY or REPLICATE in attrs or PIVOT in attrs


@dataclass(frozen=True, eq=False)
class ReplicateRequest:
    """The arguments of `split_compile_and_replicate`, as given."""

    computation: Callable[..., Any]
    inputs: Any = None
    infeed_queue: Any = None
    device_assignment: Any = None
    use_tpu: bool = True
    maximum_shapes: Any = None
    padding_spec: Any = None
    xla_options: Any = None


Tensor = Any
Operation = Any
Graph = Any


@dataclass(frozen=True, eq=False)
class Marked:
    """One marked computation. Tensors of `graph`, in TensorFlow's order."""

    graph: Graph
    """The graph of the marked nodes."""
    cluster: str
    """The value of `_tpu_replicate`."""
    num_replicas: int
    replicated_inputs: tuple[Operation, ...]
    """The `TPUReplicatedInput`s: one for each flat input. Those of variable handles come besides
    (see the attributes `is_mirrored_variable` and `is_packed`)."""
    outputs: tuple[Tensor, ...]
    """The tensors in the cluster that the `TPUReplicatedOutput`s consume."""
    replicated_outputs: tuple[Operation, ...]
    """The `TPUReplicatedOutput`s, one for each of `outputs`."""
    control_outputs: tuple[Operation, ...]
    """Operations of the cluster that run though no output needs them: all that the
    computation built, as `rewrite` documents."""
    metadata: Operation
    """The `TPUReplicateMetadata`."""
    variable_names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The names and ids of replicated variables, by the names of their handles'
    `TPUReplicatedInput`s. All computations have the same id of a variable."""

    @property
    def in_function(self) -> bool:
        """Whether it was built in a `tf.function`; so is an eager call."""
        return isinstance(self.graph, graphs.FuncGraph)


@dataclass(frozen=True, eq=False)
class StepOutputs:
    """The result of execution: tensors and operations of the user's graph."""

    outputs: tuple[tuple[Tensor, ...], ...]
    """For each replica one tensor for each of `Marked.outputs`."""
    done: Operation
    """Runs after all replicas, with their host clusters and side effects."""
