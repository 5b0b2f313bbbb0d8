"""The graph in which a computation of a tf.function is marked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals import gradients, graphs, operations, patching

Graph = Any
Operation = Any
Tensor = Any


# Of a graph: the name scope, devices and colocation of the operations that are made in it.
_STACKS = ("_name_stack", "_device_function_stack", "_colocation_stack")


class ScratchGraph(graphs.FuncGraph):  # type: ignore[misc]
    """A FuncGraph inside the user's FuncGraph that continues from its current state.

    It draws names from the user's graph, and starts with its name scope, devices and control
    dependencies, so that operations are made as they would have been there. Tensors that it
    captures from outside the user's graph are captured there first, as they would have been.
    `counterparts` maps the operations that represent one of the user's graph to that one: captured
    placeholders, and no-ops for operations without outputs. They have the same names.
    """

    def __init__(self, users_graph: Graph) -> None:
        super().__init__(users_graph.name)
        self.users_graph = users_graph
        self.counterparts: dict[str, Operation] = {}
        self._waits: list[tuple[Any, Any]] = []
        self._names_in_use = users_graph._names_in_use
        self._name_stack = users_graph._name_stack
        # True if bodies of loops and branches get automatic control dependencies.
        self._add_control_dependencies = users_graph._add_control_dependencies

    @contextlib.contextmanager
    def activate(self) -> Iterator[None]:
        """Enter the graph, with the devices and control dependencies of the user's."""
        users = self.users_graph
        with self.as_default(), contextlib.ExitStack() as waiting, _continue_seeds(users, self):
            self._device_function_stack = users._device_function_stack.copy()
            self._colocation_stack = users._colocation_stack.copy()
            for scope in users._control_dependencies_stack:
                scope_of_graph = self.control_dependencies(scope.control_inputs)
                waiting.enter_context(scope_of_graph)
                self._waits.append((scope, scope_of_graph))
            yield

    def capture(self, tensor: Tensor, name: str | None = None, shape: Any = None) -> Tensor:
        graph = None if isinstance(tensor, graphs.EagerTensor) else tensor.graph
        if graph is self:
            return tensor
        users = self.users_graph
        if graph is not users:
            scopes = {stack: getattr(self, stack) for stack in _STACKS}
            with patching.with_attributes(users, **scopes), tf.Graph.as_default(users):
                tensor = users.capture(tensor, name=name)
        with (
            self._next_name(tensor.op.name if tensor.value_index == 0 else None),
            gradients.no_recording(),
        ):
            placeholder = super().capture(tensor, shape=shape)
        placeholder._id = tensor._id  # by which tapes know tensors
        self.counterparts[placeholder.op.name] = tensor.op
        placeholder.op._set_device(tensor.device)  # TPUEmbedding asks where a batch is
        for scope, of_graph in self._waits:
            # An operation with an input that was made in such a scope already waits through that.
            if scope.op_in_group(tensor.op):
                of_graph.add_op(placeholder.op)
        return placeholder

    def control_dependencies(self, control_inputs: Any) -> Any:
        if control_inputs is None:
            return super().control_dependencies(None)
        return super().control_dependencies([self._counterpart(c) for c in control_inputs])

    def _counterpart(self, control_input: Any) -> Any:
        op = getattr(control_input, "op", control_input)
        if not isinstance(op, tf.Operation) or op.graph is not self.users_graph:
            return control_input
        operations.set_attr(op, "_has_manual_control_dependencies", True)
        if op.outputs:
            return self.capture(op.outputs[0]).op
        if op.name not in self.counterparts:
            with self._next_name(op.name), super().control_dependencies(None):
                tf.no_op(name=op.name)
            self.counterparts[op.name] = op
        return self.get_operation_by_name(op.name)

    def _next_name(self, name: str | None) -> contextlib.AbstractContextManager[None]:
        """Give the next operation exactly `name`, which the user's graph has taken."""
        scope, names = ("", {}) if name else ("tpulint/captured", self._names_in_use)
        return patching.with_attributes(self, _name_stack=scope, _names_in_use=names)


@patching.patch(
    "tensorflow.python.framework.func_graph.FuncGraph.capture",
    why="a branch in a scratch graph captures each tensor of the user's graph once",
)
def _capture_through_scratch_graphs(
    original: Callable[..., Tensor],
    graph: Graph,
    tensor: Tensor,
    name: str | None = None,
    shape: Any = None,
) -> Tensor:
    # Otherwise a branch that takes a tensor of the user's twice would get two arguments.
    if not isinstance(tensor, graphs.EagerTensor):
        for around in graphs.graphs_outwards(graph.outer_graph):
            if isinstance(around, ScratchGraph) and tensor.graph is around.users_graph:
                with tf.Graph.as_default(around):
                    tensor = around.capture(tensor)
    return original(graph, tensor, name=name, shape=shape)


@contextlib.contextmanager
def _continue_seeds(users: Graph, scratch: Graph) -> Iterator[None]:
    """Give random operations in `scratch` the seeds that they would have got in `users`."""
    counts = graphs.random_seed._graph_to_seed_dict
    counts[scratch] = counts.get(users, 0)
    try:
        yield
    finally:
        counts[users] = counts[scratch]
