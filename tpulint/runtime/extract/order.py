"""The order in which the operations of a region must run.

A plain `tf.Graph` orders side effects only where the user wrote a control dependency. Within a
replica, unordered accesses of one resource, at least one of which writes, run as follows: those of
the device in the order in which XLA compiles them, those of the host in program order. So do
operations with an effect that no tensor shows (prints, Python functions), infeed and outfeed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping

from tpulint.ordering.operations import COLLECTIVES
from tpulint.runtime.extract.arguments import argument_names
from tpulint.runtime.extract.bodies import bodies, is_call
from tpulint.runtime.extract.compiled_order import compiled_order
from tpulint.runtime.extract.effects import resources_of, writes
from tpulint.runtime.extract.kernels import needs_the_host
from tpulint.runtime.extract.region import (
    Graph,
    Operation,
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
)
from tpulint.runtime.extract.segments import Side, side_of
from tpulint.runtime.tensorflow_internals.operations import add_control_inputs

_UNORDERED = frozenset(
    {"Assert", "VarHandleOp", "RandomStandardNormal", "RandomUniform", "RandomUniformInt"}
)


def order(region: Region, side: Callable[[Operation], Side]) -> Mapping[str, frozenset[str]]:
    """Return for each operation the names of those of the region that must run before it."""
    before = {name: set(needed) for name, needed in region.needs.items()}
    _order_effects(region, side, before)
    on_host = [op for op in region.ops if side(op) is Side.HOST]
    _order_accesses(region, on_host, before)
    # The locks judge the accesses of one side against those of the other.
    compiled = compiled_order(region, before, argument_names(region.inputs))
    _order_accesses(region, [op for op in compiled if side(op) is not Side.HOST], before)
    return {name: frozenset(names - {name}) for name, names in before.items()}


def order_accesses(
    graph: Graph, inputs: Iterable[Tensor], arguments: Mapping[str, str], added: Container[str]
) -> tuple[Region, list[Operation]]:
    """Add the order of the device's accesses of resources to `graph`, which has been rebuilt.

    `inputs` are given to it, and `arguments` has the names that TensorFlow compiles them by.
    `added` has the names of inputs and operations that TensorFlow's graph does not have.

    Returns:
        `graph` as it was, and the device's operations in their order.
    """
    made_by = {tensor.op.name for tensor in inputs}
    ops = {op.name: op for op in graph.get_operations() if op.name not in made_by}
    region = Region(graph, in_program_order(graph, ops), tuple(arguments), (), graph_nodes(graph))
    before = {name: set(needed) for name, needed in region.needs.items()}
    compiled = compiled_order(region, before, arguments, added)
    on_device = [op for op in compiled if _is_on_device(region, op)]
    _order_accesses(region, on_device, before)
    for name, earlier in region.needs.items():
        new = before[name] - earlier - {name}
        if new:
            add_control_inputs(ops[name], [ops[one] for one in sorted(new)])
    return region, on_device


def _is_on_device(region: Region, op: Operation) -> bool:
    return region.cluster_of(op) is None and not needs_the_host(region, op)


def _order_accesses(region: Region, ops: Iterable[Operation], before: dict[str, set[str]]) -> None:
    """Make `ops` access each resource in their order, if one of them writes it."""
    last_write: dict[str, str] = {}
    reads: dict[str, list[str]] = defaultdict(list)
    for op in ops:
        for resource in resources_of(op):
            if resource in last_write:
                before[op.name].add(last_write[resource])
            if writes(region, op, resource):
                before[op.name].update(reads.pop(resource, ()))
                last_write[resource] = op.name
            else:
                reads[resource].append(op.name)


def _order_effects(
    region: Region, side: Callable[[Operation], Side], before: dict[str, set[str]]
) -> None:
    last: str | None = None
    for op in region.ops:
        if not _has_hidden_effect(region, op, side(op)):
            continue
        if last is not None:
            before[op.name].add(last)
        last = op.name


def _has_hidden_effect(region: Region, op: Operation, side: Side) -> bool:
    if side is Side.FEED:
        return True
    if side is Side.COLLECTIVE or op.type in COLLECTIVES or not op.op_def.is_stateful:
        return False
    if side is Side.HOST:
        return is_call(op) or not (op.type in _UNORDERED or resources_of(op))
    return any(
        inner.type in COLLECTIVES or _has_hidden_effect(body, inner, side_of(body, inner))
        for body in bodies(region, op)
        for inner in body.ops
    )
