"""Accesses of a variable in a branch that no edge orders.

XLA compiles them in an order that the names of operations and arguments decide. In a branch of a
TensorFlow 1 conditional that is not the same in every session: Grappler, unless it is off, turns
conditionals into regions and back, which renames the arguments (DefaultModuleGrapplerPipeline,
tfg_passes_builder.cc).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from tpulint.runtime.extract.effects import resources_of, writes
from tpulint.runtime.extract.region import Graph, Operation, Region

_SEE_NO_VALUE = frozenset({"VariableShape", "VarIsInitializedOp"})
_ADD = frozenset(
    {"AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterAdd", "ResourceScatterSub"}
)
"""In whatever order they run, the variable is the same in the end."""


@dataclass(frozen=True, eq=False)
class Unordered:
    """Two accesses of the variable `variable`, of which at least one writes."""

    variable: str
    first: Operation
    second: Operation


def unordered(region: Region, accesses: Iterable[Operation]) -> Iterator[Unordered]:
    """Yield two of `accesses` for each variable that has some in no order.

    `accesses` are operations of `region` in the order in which they run here.
    """
    by_resource: dict[str, list[Operation]] = defaultdict(list)
    for op in accesses:
        for resource in () if op.type in _SEE_NO_VALUE else resources_of(op):
            by_resource[resource].append(op)
    shared = {
        resource: ops
        for resource, ops in by_resource.items()
        if len(ops) > 1 and any(writes(region, op, resource) for op in ops)
    }
    earlier = _earlier(region, {op.name for ops in shared.values() for op in ops})
    for resource, ops in shared.items():
        written = {op.name for op in ops if writes(region, op, resource)}
        for first, second in combinations(ops, 2):
            conflict = {first.name, second.name} & written and not {first.type, second.type} <= _ADD
            if conflict and first.name not in earlier[second.name]:
                yield Unordered(_variable(region.graph, resource), first, second)
                break


def _variable(graph: Graph, handle: str) -> str:
    """Return the name of the variable of `handle`, a tensor of `graph` or captured from around."""
    while hasattr(graph, "outer_graph"):
        captures = zip(graph.internal_captures, graph.external_captures, strict=True)
        around = next((outer for inner, outer in captures if inner.name == handle), None)
        if around is None:
            break
        graph, handle = around.graph, around.name
    return handle.partition(":")[0]


def _earlier(region: Region, names: set[str]) -> dict[str, frozenset[str]]:
    """Return for each operation those named in `names` that an edge or a path makes run before."""
    found: dict[str, frozenset[str]] = {}
    for op in region.ops:
        before = region.needs[op.name]
        found[op.name] = (before & names).union(*(found[name] for name in before))
    return found
