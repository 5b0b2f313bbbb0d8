"""Operations that hold other graphs: conditionals, loops and calls, and the regions in them."""

from __future__ import annotations

from typing import Any

from tpulint.ordering.operations import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.extract.region import (
    CLUSTER_ATTR,
    Graph,
    NodeDef,
    Operation,
    Region,
    graph_nodes,
    in_program_order,
    needed,
)
from tpulint.runtime.tensorflow_internals import functions, graphs

WHILE = frozenset({"While", "StatelessWhile"})
IF = frozenset({"If", "StatelessIf"})
CASE = frozenset({"Case", "StatelessCase"})
CALL = frozenset({"PartitionedCall", "StatefulPartitionedCall"})

_FUNCTION_ATTRS = {
    **dict.fromkeys(WHILE, ("cond", "body")),
    **dict.fromkeys(IF, ("then_branch", "else_branch")),
    **dict.fromkeys(CASE, ("branches",)),
    **dict.fromkeys(CALL, ("f",)),
}


def is_call(op: Operation) -> bool:
    """Return whether `op` calls a function: by an attribute, or by its own type."""
    return op.type in CALL or functions.is_function(op.graph, op.type)


def function_names(graph: Graph, node: NodeDef) -> tuple[str, ...]:
    """Return the functions in a conditional, loop or call, in the order of its attributes."""
    if functions.is_function(graph, node.op):
        return (node.op,)
    names: list[str] = []
    for key in _FUNCTION_ATTRS.get(node.op, ()):
        attr = node.attr[key]
        names += [func.name for func in attr.list.func] or [attr.func.name]
    return tuple(names)


def bodies(region: Region, op: Operation) -> tuple[Region, ...]:
    """Return the regions of the functions that `op`, of `region`, holds."""
    return tuple(
        region.automatic.knows(body_of_function(graph))
        for graph in _graphs(region.graph, region.nodes[op.name])
    )


def crosses_the_seam(region: Region, op: Operation) -> bool:
    """Return whether a body of `op`, at any depth, has operations that are not compiled."""
    return any(
        _marks(graph) or region.automatic.has_some_in(graph)
        for graph in _graphs(region.graph, region.nodes[op.name])
    )


def is_marked(region: Region, op: Operation) -> bool:
    """Return the same as `crosses_the_seam`, leaving automatic host clusters aside."""
    return any(_marks(graph) for graph in _graphs(region.graph, region.nodes[op.name]))


def _graphs(graph: Graph, node: NodeDef) -> list[Graph]:
    return [functions.function_graph(graph, name) for name in function_names(graph, node)]


@graphs.once_a_graph
def _marks(graph: Graph) -> bool:
    return any(
        CLUSTER_ATTR in node.attr
        or node.op in COLLECTIVES | FEEDS | ONLY_OF_TPUS
        or any(_marks(inner) for inner in _graphs(graph, node))
        for node in graph_nodes(graph).values()
    )


@graphs.once_a_graph
def body_of_function(graph: Any) -> Region:
    """Return the region of a function body, where side effects run though no output needs them."""
    given = {tensor.op.name for tensor in graph.inputs}
    roots = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    roots += [op for op in graph.get_operations() if op.op_def.is_stateful]
    found = needed(roots, lambda op: op.name not in given)
    return Region(
        graph=graph,
        ops=in_program_order(graph, found),
        inputs=tuple(tensor.name for tensor in graph.inputs),
        outputs=tuple(graph.outputs),
        nodes=graph_nodes(graph),
    )
