"""The control-flow context that marks each operation of a TPU computation as it is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import ControlFlowContextError, NestedComputationError
from tpulint.runtime.mark import clusters, variables
from tpulint.runtime.mark.marked import MAP_OUTSIDE, OUTSIDE, REPLICATE
from tpulint.runtime.tensorflow_internals import graphs, operations

_NEVER_ON_A_TPU = frozenset({"Placeholder"})
_NOT_READABLE_FROM_A_TPU = frozenset(
    {
        "AudioSummary",
        "AudioSummaryV2",
        "HistogramSummary",
        "ImageSummary",
        "MergeSummary",
        "Print",
        "ScalarSummary",
        "TensorSummary",
        "TensorSummaryV2",
    }
)
_REPORTED = 5


class TPUReplicateContext(clusters.GradientColocation, variables.ReplicatedHandles):
    """A context that marks operations with the computation's name and the open host cluster.

    TensorFlow calls the methods in CamelCase, also those of the bases. Those with a leading
    underscore at the end are what TensorFlow's own `outside_compilation` calls, so that it works in
    here as well.
    """

    def __init__(self, name: str, num_replicas: int, pivot: Any) -> None:
        """Mark with `name` as `_tpu_replicate`; operations without inputs depend on `pivot`."""
        super().__init__()
        self._name = name
        self._pivot = pivot
        self.num_replicas = num_replicas
        self.operations: list[Any] = []
        self._unsupported: list[Any] = []

    def Enter(self) -> None:
        # An empty stack is looked up again at each entry, as TensorFlow does.
        if not self.clusters.outer_devices:
            self.clusters.outer_devices = graphs.default_graph()._device_function_stack.copy()
        super().Enter()

    def AddOp(self, op: Any) -> None:
        """Mark `op`, and tie it to the inside of the computation only.

        Raises:
            NotImplementedError: `op` reads a variable that is no resource variable.
            NestedComputationError: `op` belongs to another computation already.
        """
        self._report(op)
        if any(tensor.dtype._is_ref_dtype for tensor in op.inputs):
            raise NotImplementedError(
                "Non-resource Variables are not supported inside TPU computations "
                f"(operator name: {op.name})"
            )
        # Keras clones operations of a computation, and says so with "_cloned".
        attrs = op.node_def.attr
        if REPLICATE in attrs and "_cloned" not in attrs:
            raise NestedComputationError(f"TPU computations cannot be nested on op ({op})")
        self.operations.append(op)
        operations.set_attr(op, REPLICATE, self._name)
        if self.clusters.open:
            operations.set_attr(op, OUTSIDE, self.clusters.open)
        if self.clusters.is_map:
            operations.set_attr(op, MAP_OUTSIDE, True)
        # Compiled or replicated operations are gone when the step runs. One replica's host
        # operations are still there.
        if self.num_replicas > 1 or not self.clusters.open:
            op.graph.prevent_feeding(op)
            op.graph.prevent_fetching(op)
        self._tie(op)
        names = [tensor.name for tensor in op.outputs]
        for context in graphs.contexts_outwards(self):
            for name in names:
                context.AddName(name)
        if self.outer_context:
            self.outer_context.AddInnerOp(op)

    def AddInnerOp(self, op: Any) -> None:
        self.AddOp(op)
        if self.outer_context:
            self.outer_context.AddInnerOp(op)

    def AddValue(self, val: Any) -> Any:
        """Return the tensor to use for `val`: itself, unless an outer loop or branch guards it."""
        # Without an outer context nothing is remembered: names of different graphs may collide.
        if not self.outer_context:
            return val
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        self._values.add(val.name)
        result = self.outer_context.AddValue(val)
        self._values.add(result.name)
        self._external_values[val.name] = result
        return result

    @property
    def grad_state(self) -> None:
        """Return None: gradients of loops start from scratch in a computation."""
        return None

    @property
    def back_prop(self) -> bool:
        loop = self.GetWhileContext()
        return bool(loop.back_prop) if loop else False

    def GetControlPivot(self) -> Any:
        return self._pivot

    def RequiresUniqueFunctionRetracing(self) -> bool:
        # A tf.function traced in here holds handles that belong to this computation.
        return True

    def report_unsupported_operations(self) -> None:
        """Log the operations that cannot be read from a TPU."""
        unsupported = self._unsupported
        if not unsupported:
            return
        shown = "\n".join(f"  {op.type} ({op.name})" for op in unsupported[:_REPORTED])
        log = tf.get_logger()
        log.warning("%d unsupported operations found: \n%s", len(unsupported), shown)
        if len(unsupported) > _REPORTED:
            log.warning("... and %d more", len(unsupported) - _REPORTED)

    def _report(self, op: Any) -> None:
        if op.type in _NEVER_ON_A_TPU:
            tf.get_logger().error(
                "Operation of type %s (%s) is not supported on the TPU. "
                "Execution will fail if this op is used in the graph. ",
                op.type,
                op.name,
            )
        # The operations in a host cluster are counted too, as TensorFlow does.
        if op.type in _NOT_READABLE_FROM_A_TPU:
            self._unsupported.append(op)

    def _tie(self, op: Any) -> None:
        inside, outside = list[Any](), list[Any]()
        for control in op.control_inputs:  # TensorFlow looks each of them up whenever it is asked
            around = graphs.contexts_outwards(graphs.context_of(control))
            (inside if self in around else outside).append(control)
        if outside:
            op._remove_all_control_inputs()
            op._add_control_inputs(inside)
        if op.inputs:
            for index, tensor in enumerate(op.inputs):
                real = self.AddValue(tensor)
                if real is not tensor:
                    op._update_input(index, real)
        elif not inside:
            op._add_control_inputs([self._pivot])
        if outside:
            # A control edge from outside becomes a data edge through an Identity in here.
            # An operation without outputs cannot, and is dropped, as TensorFlow does.
            with tf.control_dependencies(None):
                self.Enter()
                outside = [tf.identity(c.outputs[0]).op for c in outside if c.outputs]
                self.Exit()
            op._add_control_inputs(outside)

    @property
    def _outside_compilation_counter(self) -> int:
        return self.clusters.count

    @_outside_compilation_counter.setter
    def _outside_compilation_counter(self, value: int) -> None:
        self.clusters.count = value
        self.clusters.returned = None  # TensorFlow's function does not tell us

    @property
    def _outside_compilation_cluster(self) -> str | None:
        """Return the open cluster, for which a sound hand-written guard against nesting asks."""
        return self.clusters.open

    def _EnterOutsideCompilationScope(
        self, cluster: str | None = None, is_map_outside_compilation: bool = False
    ) -> None:
        self.clusters.enter(cluster, is_map_outside_compilation)
        self.clusters.returned = None

    def _ExitOutsideCompilationScope(self) -> None:
        self.clusters.exit()


graphs.register_replicate_context(TPUReplicateContext)


def enclosing_context() -> TPUReplicateContext | None:
    """Return the context of the TPU computation that is being built, past nested functions."""
    contexts = (c for c in graphs.contexts_around() if isinstance(c, TPUReplicateContext))
    return next(contexts, None)


def build_in_function(build: Callable[[], Any], is_map: bool) -> Any:
    """Build a host cluster in a function's graph: the inner of two nested names wins."""
    context = enclosing_context()
    assert context is not None
    cluster = clusters.OutsideCompilationV2Context(context.clusters.next_name(), is_map)
    cluster.Enter()
    try:
        result = build()
    finally:
        cluster.Exit()
    context.clusters.note_returned(result)
    return result


def build_in_graph(build: Callable[[], Any], is_map: bool) -> Any:
    """Build a host cluster of each TPU computation around us in this graph.

    Raises:
        NestedClusterError: a host cluster is open.
        ControlFlowContextError: `build` changes the control-flow context.
    """
    graph = graphs.default_graph()
    before = graphs.context_of(graph)
    inside = [c for c in graphs.contexts_outwards(before) if isinstance(c, TPUReplicateContext)]
    with ExitStack() as leave:
        for context in inside:
            context.clusters.enter(is_map=is_map)
            leave.callback(context.clusters.exit)
        result = build()
        for context in inside:
            context.clusters.note_returned(result)
        # Also where there is no computation around: a context may have been cleared before.
        if graphs.context_of(graph) is not before:
            raise ControlFlowContextError(
                "Control-flow context cannot be different at start and end of an "
                "outside_compilation scope"
            )
        return result
