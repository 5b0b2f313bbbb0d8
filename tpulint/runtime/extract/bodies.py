"""Operations that hold other graphs, and what they do to resources, at any depth.

The operations are conditionals, loops and calls; the resources are variables, and the handles of
TensorArrays and stacks of TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.extract.region import (
    Graph,
    NodeDef,
    Operation,
    Region,
    Tensor,
    graph_nodes,
    needed_operations,
)
from tpulint.runtime.mark.marked import OUTSIDE
from tpulint.runtime.tensorflow_internals import graphs

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
    return op.type in CALL or graphs.is_function(op.graph, op.type)


def bodies(region: Region, op: Operation) -> tuple[Region, ...]:
    """Return the regions of the functions that `op`, of `region`, holds."""
    return tuple(
        region.automatic.with_clusters(body_of_function(graph))
        for graph in _graphs(region.graph, region.nodes[op.name])
    )


def walk_operations(region: Region, ops: Iterable[Operation]) -> Iterator[tuple[Region, Operation]]:
    """Yield `ops`, of `region`, and all operations in their bodies before them, with the region."""
    for op in ops:
        for body in bodies(region, op):
            yield from walk_operations(body, body.ops)
        yield region, op


def crosses_to_the_host(region: Region, op: Operation) -> bool:
    """Return whether a body of `op`, at any depth, has operations that are not compiled."""
    return any(
        _marks(graph) or id(graph) in region.automatic.graphs
        for graph in _graphs(region.graph, region.nodes[op.name])
    )


def is_marked(region: Region, op: Operation) -> bool:
    """Return the same as `crosses_to_the_host`, leaving automatic host clusters aside."""
    return any(map(_marks, _graphs(region.graph, region.nodes[op.name])))


def _graphs(graph: Graph, node: NodeDef) -> list[Graph]:
    """Return the graphs in a conditional, loop or call, in the order of its attributes."""
    if graphs.is_function(graph, node.op):
        return [graphs.function_graph(graph, node.op)]
    attrs = [node.attr[key] for key in _FUNCTION_ATTRS.get(node.op, ())]
    functions = [function for attr in attrs for function in attr.list.func or [attr.func]]
    return [graphs.function_graph(graph, function.name) for function in functions]


@graphs.cache_per_graph
def _marks(graph: Graph) -> bool:
    return any(
        OUTSIDE in node.attr
        or node.op in COLLECTIVES | FEEDS | ONLY_OF_TPUS
        or any(_marks(inner) for inner in _graphs(graph, node))
        for node in graph_nodes(graph).values()
    )


@graphs.cache_per_graph
def body_of_function(graph: Any) -> Region:
    """Return the region of a function body, where side effects run though no output needs them."""
    argument_names = {tensor.op.name for tensor in graph.inputs}
    roots = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    # Automatic control dependencies make them outputs only where the graph is a tf.function's.
    roots += [op for op in graph.get_operations() if op.op_def.is_stateful]
    inside = needed_operations(roots, lambda op: op.name not in argument_names)
    return Region.of(graph, inside, (tensor.name for tensor in graph.inputs), graph.outputs)


READS = frozenset(
    {"ReadVariableOp", "VariableShape", "VarIsInitializedOp", "ResourceGather", "ResourceGatherNd"}
)


def is_resource(tensor: Tensor) -> bool:
    """Return whether `tensor` is a handle."""
    return bool(tensor.dtype.base_dtype.name == "resource")


def resources_of(op: Operation) -> tuple[str, ...]:
    """Return the names of the handles that `op` takes."""
    return tuple(dict.fromkeys(tensor.name for tensor in op.inputs if is_resource(tensor)))


def arguments(op: Operation) -> tuple[Tensor, ...]:
    """Return the tensors that a conditional, loop or call passes to its bodies, in their order."""
    return tuple(op.inputs)[1:] if op.type in IF | CASE else tuple(op.inputs)


def holds_bodies(op: Operation) -> bool:
    """Return whether `op` is a conditional, a loop or a call."""
    return op.type in WHILE | IF | CASE or is_call(op)


def writes(region: Region, op: Operation, resource: str) -> bool:
    """Return whether `op`, or a body in it, may write `resource`."""
    # An unknown operation counts as a write: it only orders more than needed.
    if not holds_bodies(op):
        return op.type not in READS and op.type != "Identity"
    places = [place for place, tensor in enumerate(arguments(op)) if tensor.name == resource]
    return any(
        inner.name in names and writes(body, user, inner.name)
        for body in bodies(region, op)
        for names in [{body.inputs[place] for place in places}]
        for user in body.ops
        for inner in user.inputs
    )


@dataclass(frozen=True, eq=False)
class Touch:
    """An access by `op` of the variable whose handle the computation knows as `variable`."""

    variable: str
    op: Operation
    region: Region
    """The region of `anchor`."""
    anchor: Operation
    """`op`, or the operation of a host cluster in whose body it is."""
    on_host: bool
    writes: bool
    top: Operation
    """The operation of the whole computation that `op` is, or is in."""


def touches(region: Region) -> Iterator[Touch]:
    """Return every access of a resource in `region` and the bodies under it, in program order."""
    handles = {name: name for name in region.inputs}
    for op in region.ops:
        yield from _touches(region, op, handles, None, op)


def _touches(
    region: Region,
    op: Operation,
    handle_origins: dict[str, str],
    host: tuple[Region, Operation] | None,
    top: Operation,
) -> Iterator[Touch]:
    """Yield the touches of `op`, and add the handles that it returns to `handle_origins`."""
    anchor = host or ((region, op) if region.cluster_of(op) is not None else None)
    handles = [
        tensor.name for tensor in op.inputs if is_resource(tensor) and tensor.name in handle_origins
    ]
    if holds_bodies(op):
        handed_in = [handle_origins.get(tensor.name) for tensor in arguments(op)]
        for body in bodies(region, op):
            inside = {name: origin for name, origin in zip(body.inputs, handed_in) if origin}
            for user in body.ops:
                yield from _touches(body, user, inside, anchor, top)
        # A loop gives out the handles that it was given.
        if op.type in WHILE:
            passed = zip(op.outputs, handed_in)
            handle_origins |= {out.name: origin for out, origin in passed if origin}
    elif op.type == "Identity" and handles:
        handle_origins[op.outputs[0].name] = handle_origins[handles[0]]
    else:
        for name in dict.fromkeys(handles):
            where, at = anchor or (region, op)
            writes_it = op.type not in READS
            yield Touch(handle_origins[name], op, where, at, anchor is not None, writes_it, top)


ARRAY = "TensorArray"
STACK = "Stack"
_CREATORS = {
    "TensorArrayV3": ARRAY,
    "TensorArrayGradV3": ARRAY,
    "TensorArrayGradWithShape": ARRAY,
    "StackV2": STACK,
}
_VERBS = ("Close", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write")
ARRAY_USERS = {
    **{f"TensorArray{verb}V3": ARRAY for verb in _VERBS},
    "TensorArrayGradWithShape": ARRAY,
    **{f"Stack{verb}V2": STACK for verb in ("Close", "Pop", "Push")},
}


def array_handles(region: Region) -> dict[str, str]:
    """Return by name the tensors of `region` that are such handles, with the kind of each."""
    handles: dict[str, str] = {}
    for op in region.ops:
        if op.type in _CREATORS:
            handles[op.outputs[0].name] = _CREATORS[op.type]
        if op.type in ARRAY_USERS:
            handles[op.inputs[0].name] = ARRAY_USERS[op.type]
        handles |= handles_taken_inside(region, op)
    return handles


def handles_taken_inside(region: Region, op: Operation) -> dict[str, str]:
    """Return the same of the arguments of `op`, a conditional, loop or call; else none."""
    handles = {}
    for body in bodies(region, op):
        inside = _handles_of_function(body.graph)
        for name, tensor in zip(body.inputs, arguments(op), strict=True):
            if name in inside:
                handles[tensor.name] = inside[name]
    return handles


@graphs.cache_per_graph
def _handles_of_function(graph: Any) -> Mapping[str, str]:
    return array_handles(body_of_function(graph))
