"""The order in which the operations of a region must run.

A plain `tf.Graph` orders side effects only where the user wrote a control dependency. Within a
replica, unordered accesses of one resource, at least one of which writes, run as follows: those of
the device in the order in which XLA compiles them, those of the host in program order. So do
operations with an effect that no tensor shows (prints, Python functions), infeed and outfeed.

What a graph leaves open, XLA decides by the names of operations and arguments. In a branch of a
TensorFlow 1 conditional that is not the same in every session: Grappler, unless it is off, turns
conditionals into regions and back, which renames the arguments (DefaultModuleGrapplerPipeline,
tfg_passes_builder.cc). Such accesses are reported.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from tpulint.ordering import COLLECTIVES
from tpulint.runtime.extract.bodies import bodies, is_call, is_resource, resources_of, writes
from tpulint.runtime.extract.kernels import needs_the_host
from tpulint.runtime.extract.region import Graph, Operation, Region, Tensor
from tpulint.runtime.extract.segments import Side, side_of


def argument_names(inputs: Iterable[str]) -> dict[str, str]:
    """Return for each tensor of `inputs`, a computation's, its argument's name.

    See encapsulate_subgraphs_pass.cc, and NodeNameMapping in graph_to_functiondef.cc.
    """
    names = {}
    for name in inputs:
        operation, _, number = name.partition(":")
        names[name] = re.sub(r"[^a-z0-9]", "_", f"{operation}_{number}_arg".lower())
    return names


def numbered_arguments(
    inputs: Iterable[Tensor], handed_in: Mapping[str, str], added: Container[str]
) -> dict[str, str]:
    """Return for each of `inputs`, a branch's or a loop's, but those `added`, its argument's name.

    TensorFlow numbers them by the operations that hand them in, which `handed_in` names
    (NodeCmpByNameResourcesLast in functionalize_control_flow_util.cc).
    """
    handed_over = sorted(
        (tensor for tensor in inputs if tensor.name not in added),
        key=lambda tensor: (is_resource(tensor), handed_in.get(tensor.name, "~")),
    )
    return {tensor.name: f"arg{number}" for number, tensor in enumerate(handed_over)}


def compiled_order(
    region: Region,
    before: Mapping[str, set[str]],
    arguments: Mapping[str, str],
    absent: Container[str] = (),
) -> list[Operation]:
    """Return the operations of `region` as XLA compiles them, each after those named in `before`.

    `arguments` has the region's inputs, with their names inside, and `absent` the names of those
    inputs and operations that TensorFlow's graph lacks. Operations that only pass on a tensor are
    left out, as TensorFlow removes them first (RemoveIdentityNodes, function_utils.cc).
    """
    passed: dict[str, str] = {}
    users: dict[str, set[str]] = {}
    for op in region.ops:
        if op.name in absent:
            continue
        taken = [tensor.name for tensor in op.inputs if tensor.name in arguments]
        sources = {
            passed.get(name, name)
            for name in {*taken, *before[op.name]} - {op.name}
            if name not in absent
        }
        if op.type == "Identity" and not op.control_inputs and len(sources) == 1:
            (passed[op.name],) = sources
            continue
        for source in sources:
            users.setdefault(source, set()).add(op.name)
    followers = set[str]().union(*users.values())
    nodes = [name for name in (*arguments, *region.names) if name not in absent]
    roots = [name for name in nodes if name not in followers and name not in passed]

    postorder: list[str] = []
    met: set[str] = set()
    stack = [(root, False) for root in sorted(roots, key=lambda name: arguments.get(name, name))]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            postorder.append(name)
        elif name not in met:
            met.add(name)
            stack.append((name, True))
            stack += [(user, False) for user in sorted(users.get(name, ())) if user not in met]
    return [
        region.ops[region.position[name]] for name in reversed(postorder) if name in region.names
    ]


_UNORDERED = frozenset(
    {"Assert", "VarHandleOp", "RandomStandardNormal", "RandomUniform", "RandomUniformInt"}
)


def order_operations(
    region: Region, side: Callable[[Operation], Side]
) -> Mapping[str, frozenset[str]]:
    """Return for each operation the names of those of the region that must run before it."""
    before = {name: set(needed) for name, needed in region.needs.items()}
    # Prints and Python functions of a plain graph have no order on a TPU either; program order is
    # what their author sees.
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
    region = Region.of(graph, ops, arguments)
    before = {name: set(needed) for name, needed in region.needs.items()}
    compiled = compiled_order(region, before, arguments, added)
    on_device = [
        op for op in compiled if region.cluster_of(op) is None and not needs_the_host(region, op)
    ]
    _order_accesses(region, on_device, before)
    for name, earlier in region.needs.items():
        new = before[name] - earlier - {name}
        if new:
            ops[name]._add_control_inputs([ops[source] for source in sorted(new)])
    return region, on_device


def _order_accesses(region: Region, ops: Iterable[Operation], before: dict[str, set[str]]) -> None:
    """Make `ops` access each resource in their order, if one of them writes it."""
    last_write: dict[str, str] = {}
    reads: dict[str, list[str]] = defaultdict(list)
    for op in ops:
        for resource in resources_of(op):
            if resource in last_write:
                before[op.name].add(last_write[resource])
            # A write comes after all reads since the last write, and before all that follow.
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
    # Collectives may be reached in any order: see execute/rendezvous.py.
    if side is Side.COLLECTIVE or op.type in COLLECTIVES or not op.op_def.is_stateful:
        return False
    if side is Side.HOST:
        return is_call(op) or not (op.type in _UNORDERED or resources_of(op))
    return any(
        inner.type in COLLECTIVES or _has_hidden_effect(body, inner, side_of(body, inner))
        for body in bodies(region, op)
        for inner in body.ops
    )


_SEE_NO_VALUE = frozenset({"VariableShape", "VarIsInitializedOp"})
# In whatever order they run, the variable is the same in the end.
_ADD = frozenset(
    {"AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterAdd", "ResourceScatterSub"}
)


@dataclass(frozen=True, eq=False)
class UnorderedAccesses:
    """Two accesses of the variable `variable`, of which at least one writes."""

    variable: str
    first: Operation
    second: Operation


def find_unordered(region: Region, accesses: Iterable[Operation]) -> Iterator[UnorderedAccesses]:
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
    # What an edge or a path makes run before each operation, as far as it is an access.
    names = {op.name for ops in shared.values() for op in ops}
    earlier: dict[str, frozenset[str]] = {}
    for op in region.ops:
        needs = region.needs[op.name]
        earlier[op.name] = (needs & names).union(*(earlier[name] for name in needs))
    for resource, ops in shared.items():
        written = {op.name for op in ops if writes(region, op, resource)}
        for first, second in combinations(ops, 2):
            conflict = {first.name, second.name} & written and not {first.type, second.type} <= _ADD
            if conflict and first.name not in earlier[second.name]:
                # One a variable: a second says nothing new.
                yield UnorderedAccesses(_name_of_variable(region.graph, resource), first, second)
                break


def _name_of_variable(graph: Graph, handle: str) -> str:
    """Return the name of the variable of `handle`, a tensor of `graph` or captured from around."""
    while hasattr(graph, "outer_graph"):
        captures = zip(graph.internal_captures, graph.external_captures, strict=True)
        around = next((outer for inner, outer in captures if inner.name == handle), None)
        if around is None:
            break
        graph, handle = around.graph, around.name
    return handle.partition(":")[0]
