"""The host clusters of one TPU computation: in its own graph, in functions, and in gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime.errors import GradientColocationError, NestedClusterError
from tpulint.runtime.mark.marked import MAP_OUTSIDE, OUTSIDE
from tpulint.runtime.tensorflow_internals import graphs, operations, tpu

_WITHOUT_TENSORS = (
    *(type(None), bool, int, float, str, bytes, np.ndarray, np.generic),
    *(tf.Operation, tf.Variable, graphs.EagerTensor),
)


class HostClusters:
    """A counter of a computation's clusters, which get the devices around the computation.

    `outer_devices` is the stack of device functions that was in force where the computation
    began: an operation of a host cluster has the devices of that place, not those of the
    `tf.device(tpu.core(...))` scopes on the way to the cluster. `returned` has the graph, by
    identity, and the name of each tensor that the clusters' functions returned; None if one
    returned what cannot be looked into.
    """

    def __init__(self) -> None:
        self.open: str | None = None
        self.is_map = False
        self.count = 0
        self.cores: list[str] = []
        self.returned: set[tuple[int, str]] | None = set()
        self.outer_devices: Any = None
        self._devices_inside: Any = None

    def next_name(self) -> str:
        """Return the name of a cluster that is given none: "0", "1", ..."""
        # TensorFlow counts those without a name only.
        name = str(self.count)
        self.count += 1
        return name

    def enter(self, name: str | None = None, is_map: bool = False) -> None:
        """Open the cluster `name`.

        The core that a device scope names is noted for `host_compute_core`: the cluster's
        transfers go through that core. Raise `NestedClusterError` if another one is open.
        """
        if self.open:
            raise NestedClusterError("Cannot nest outside_compilation clusters")
        self.open = name or self.next_name()
        self.is_map = is_map
        graph = graphs.default_graph()
        # Asked of the graph as TensorFlow does, by the stack of device functions.
        device = graphs.device_of_graph(graph)
        if device.device_type == "TPU_REPLICATED_CORE" and device.device_index is not None:
            self.cores.append(f"{self.open}:{device.device_index}")
        self._devices_inside = graph._device_function_stack
        graph._device_function_stack = self.outer_devices

    def note_returned(self, result: Any) -> None:
        """Remember the tensors that a cluster's function returned."""
        for value in tpu.nest.flatten(result, expand_composites=True):
            if self.returned is None:
                return
            if graphs.is_symbolic_tensor(value):
                self.returned.add((id(value.graph), value.name))
            elif not isinstance(value, _WITHOUT_TENSORS):
                self.returned = None

    def exit(self) -> None:
        """Close the open cluster, or raise a ValueError if none is open."""
        if not self.open:
            raise ValueError("Attempted to exit outside_compilation scope when not in scope")
        self.open = None
        self.is_map = False
        graphs.default_graph()._device_function_stack = self._devices_inside


class OutsideCompilationV2Context(graphs.ControlFlowContext):  # type: ignore[misc]
    """A context that only marks operations of a function's graph with a host cluster's name."""

    def __init__(self, cluster: str, is_map: bool = False) -> None:
        super().__init__()
        self._name = cluster
        self._is_map = is_map

    def AddOp(self, op: Any) -> None:
        if self.outer_context:
            self.outer_context.AddOp(op)
        self._set_marks(op)

    def AddInnerOp(self, op: Any) -> None:
        if self.outer_context:
            self.outer_context.AddInnerOp(op)
        self._set_marks(op)

    def to_control_flow_context_def(self, context_def: Any, export_scope: Any = None) -> None:
        raise NotImplementedError

    def _set_marks(self, op: Any) -> None:
        operations.set_attr(op, OUTSIDE, self._name)
        if self._is_map:
            operations.set_attr(op, MAP_OUTSIDE, True)


_NO_UID = "__unsupported__"


class GradientColocation(graphs.XLAControlFlowContext):  # type: ignore[misc]
    """The part of a computation's context that colocates gradients with operations of its clusters.

    It puts the gradient of an operation of cluster "2" into "2.gradients/uid".
    The root and the uid of the call to gradients make the name. So the gradients that one call
    takes of one cluster are in one cluster, and those that another call takes are in another.
    A gradient of a gradient keeps the root: all operations of that second call that stem from
    cluster "2" share a cluster, else two clusters would wait for each other.

    TensorFlow calls this only under `colocate_gradients_with_ops=True`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clusters = HostClusters()
        self._colocated: list[Any] = []
        self._opened_for: Any = None
        self._function_context: Any = None

    def EnterGradientColocation(self, op: Any, gradient_uid: str) -> None:
        """Mark the operations that follow as the gradient of `op`, taken by the call of that uid.

        Raise NotImplementedError if `op` is in a cluster, and it has no uid or another is open.
        """
        if op is None:
            return
        in_function = graphs.context_of(graphs.default_graph()) is None
        if not in_function:
            self._colocated.append(op)
            if self.clusters.open:
                return
        cluster = cluster_of(op)
        if cluster is None:
            return
        name = f"{cluster.split('.')[0]}.{gradient_uid}"
        # A function's graph is not in the computation's context: only the mark is set there.
        if in_function:
            self._function_context = OutsideCompilationV2Context(name)
            self._function_context.Enter()
            return
        if self._opened_for:
            raise NotImplementedError(
                "Cannot nest gradient colocation operations outside compilation"
            )
        if gradient_uid == _NO_UID:
            raise NotImplementedError("No gradient_uid calling gradient within outside_compilation")
        self._opened_for = op
        self.clusters.enter(name)

    def ExitGradientColocation(self, op: Any, gradient_uid: str) -> None:
        """End the gradient of `op`.

        Raises:
            GradientColocationError: another operation's gradient is open, and a function without
                a context of its own is built: TensorFlow has an assertion there
                (TPUReplicateContext.ExitGradientColocation, tpu_replication.py).
            tf.errors.InternalError: `op` is not the operation that was entered last.
        """
        if op is None:
            return
        if graphs.context_of(graphs.default_graph()) is None:
            if self._function_context is not None:
                raise GradientColocationError(
                    f"The gradient of {op.name} is taken in a function while the gradient of an"
                    " operation outside compilation is open: TensorFlow asserts that none is"
                )
            return
        if self._function_context is not None:
            self._function_context.Exit()
            self._function_context = None
            return
        if not self._colocated:
            raise tf.errors.InternalError(
                op.node_def,
                op,
                f"Badly nested gradient colocation: empty stack when popping Op {op.name}",
            )
        last = self._colocated.pop()
        if op is not last:
            raise tf.errors.InternalError(
                op.node_def, op, f"Badly nested gradient colocation, expected {last}, got {op.name}"
            )
        if op is self._opened_for:
            self._opened_for = None
            self.clusters.exit()


def cluster_of(op: Any) -> str | None:
    """Return the host cluster that `op` is marked with, if any."""
    try:
        value: bytes = op.get_attr(OUTSIDE)
    except ValueError:
        return None
    return value.decode("ascii")
