"""Host clusters in a function's graph, which is not in the computation's context itself."""

from __future__ import annotations

from typing import Any

from tpulint.runtime.mark import attributes
from tpulint.runtime.tensorflow_internals import graphs, operations


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
        operations.set_attr(op, attributes.OUTSIDE, attributes.string_attr(self._name))
        if self._is_map:
            operations.set_attr(op, attributes.MAP_OUTSIDE, attributes.bool_attr(True))


def is_open() -> bool:
    """Return whether a host cluster is open in the default graph or one around it."""
    return any(
        isinstance(context, OutsideCompilationV2Context)
        for graph in graphs.graphs_outwards(graphs.default_graph())
        for context in graphs.contexts_outwards(graphs.context_of(graph))
    )
