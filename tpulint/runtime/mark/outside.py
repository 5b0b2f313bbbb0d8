"""Marking of the host clusters of `outside_compilation`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tpulint.runtime.errors import ControlFlowContextError
from tpulint.runtime.mark.context import TPUReplicateContext, enclosing_context
from tpulint.runtime.mark.function_cluster import OutsideCompilationV2Context
from tpulint.runtime.tensorflow_internals import graphs


def in_function(build: Callable[[], Any], is_map: bool) -> Any:
    """Build a host cluster in a function's graph: the inner of two nested names wins."""
    found = enclosing_context()
    assert found is not None
    context, _ = found
    cluster = OutsideCompilationV2Context(context.clusters.next_name(), is_map)
    cluster.Enter()
    try:
        result = build()
    finally:
        cluster.Exit()
    context.clusters.note_returned(result)
    return result


def in_graph(build: Callable[[], Any], is_map: bool) -> Any:
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
