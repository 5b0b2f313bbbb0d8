"""Variables in a TPU computation: one handle for all copies, and resource variables only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.emulate import cores
from tpulint.runtime.emulate.system import current_system
from tpulint.runtime.tensorflow_internals import graphs, patching, tpu


class ReplicatedHandles(graphs.XLAControlFlowContext):  # type: ignore[misc]
    """The part of a computation's context that has one handle for all copies of a variable."""

    def __init__(self) -> None:
        super().__init__()
        self._handles: dict[str, Any] = {}
        self.variable_names: dict[str, tuple[str, str]] = {}
        """The names and ids of the variables, by the names of their `TPUReplicatedInput`s."""

    def get_replicated_var_handle(
        self,
        name: str,
        handle_id: str,
        vars_: Any,
        is_mirrored: bool = False,
        is_packed: bool = False,
    ) -> Any:
        """Return the one handle in this context of a variable with a copy on each replica.

        Raises:
            ValueError: a replica of the strategy's device assignment has no copy.
        """
        if handle_id in self._handles:
            return self._handles[handle_id]
        copies, assignment = vars_, _enclosing_device_assignment()
        if is_packed and current_system() is not None:
            # Nothing unpacks a handle here when the step is placed: see docs/emulator.md.
            copies, is_packed = cores.unpack_variables(copies), False
        if assignment is not None and not is_packed:
            copies = _by_replica(copies, assignment)
        # The node belongs to the place around the computation, in the computation's graph.
        graph = self._graph()
        with graph.as_default():
            if isinstance(copies[0], tf.Variable):
                copies = [copy.handle for copy in copies]
            with patching.with_attributes(graph, _control_flow_context=self.outer_context):
                handle = tpu.tpu_ops.tpu_replicated_input(
                    copies,
                    name=f"{name}/handle",
                    is_mirrored_variable=is_mirrored,
                    is_packed=is_packed,
                )
        self._handles[handle_id] = handle
        self.variable_names[handle.op.name] = name, handle_id
        return handle

    def _graph(self) -> Any:
        """Return the graph that this context is entered in."""
        for graph in graphs.graphs_outwards(graphs.default_graph()):
            if self in graphs.contexts_outwards(graphs.context_of(graph)):
                return graph
        raise ValueError(
            "get_replicated_var_handle() called without TPUReplicateContext. "
            "This shouldn't happen. Please file a bug."
        )


def _enclosing_device_assignment() -> Any | None:
    """Return the device assignment of the TPUStrategy whose scope is current, if any."""
    if not tf.distribute.has_strategy():
        return None
    strategy = tf.distribute.get_strategy()
    classes = (type(strategy), *type(strategy).__bases__)
    if not any(c.__name__.startswith("TPUStrategy") for c in classes):
        return None
    return strategy.extended._device_assignment


def _by_replica(copies: Any, assignment: Any) -> list[Any]:
    """Return for each replica the copy that is on one of its cores."""
    job = graphs.DeviceSpec.from_string(copies[0].device).job
    by_device = {graphs.canonical_device(copy.device): copy for copy in copies}
    chosen = []
    for replica in range(assignment.num_replicas):
        devices = (
            graphs.canonical_device(
                assignment.tpu_device(replica=replica, logical_core=core, job=job)
            )
            for core in range(assignment.num_cores_per_replica)
        )
        device = next((device for device in devices if device in by_device), None)
        if device is None:
            raise ValueError(
                f"Failed to find a variable on any device in replica {replica} for current "
                "device assignment"
            )
        chosen.append(by_device[device])
    return chosen


@contextlib.contextmanager
def resource_variables_only() -> Iterator[None]:
    """Let `get_variable` make resource variables, unpartitioned, in the context.

    TensorFlow leaves the variable scope changed when the computation raises; here it is restored.
    """
    scope = tpu.current_variable_scope()
    use_resource, users_getter = scope.use_resource, scope.custom_getter

    # TensorFlow passes its own getter by the name `getter`.
    def no_partitions(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        partitioner = kwargs.get("partitioner")
        if partitioner is not None:
            kwargs["partitioner"] = None
            tf.get_logger().warning(
                "Partitioned variables are not supported on TPU. Got `partitioner` that is %s "
                "for variable %s. Setting `partitioner` to `None`.",
                partitioner,
                name,
            )
        if users_getter is None:
            return getter(name, *args, **kwargs)
        return users_getter(getter, name, *args, **kwargs)

    scope.set_use_resource(True)
    scope.set_custom_getter(no_partitions)
    try:
        yield
    finally:
        scope.set_use_resource(use_resource)
        scope.set_custom_getter(users_getter)
