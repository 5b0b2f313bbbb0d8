"""When the operations of host clusters run: before the device program, with it, or after it.

TensorFlow decides this for each operation by all edges of the finished graph, data and control
(encapsulate_tpu_computations_pass.cc, MoveHeadOutsideCompilationToHost and
MoveTailOutsideCompilationToHost). The rest is one transfer for each cluster: the device
waits for it if it takes tensors of it (extract_outside_compilation_pass.cc).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tpulint.runtime.extract.region import Operation, Region, Tensor, needed, sources_of

_REMOVED = ("_tpu_input_identity", "_tpu_output_identity")
"""The Identity operations at arguments and results, which TensorFlow removes before it looks."""


@dataclass(frozen=True, eq=False)
class HostOrder:
    """The names of the operations of host clusters in a region, by when they run."""

    heads: frozenset[str]
    """Operations that need only the arguments of the device program, and run before it."""
    tails: frozenset[str]
    """Operations that nothing on the device uses or waits for, which run after it."""
    awaited: frozenset[str]
    """Operations that must run before the device can go on."""


def host_order(region: Region, *, is_top: bool) -> HostOrder:
    """Return the order of the host operations of `region`. A body has no heads and tails."""
    edges = _edges(region)
    heads = _heads(region, edges) if is_top else frozenset[str]()
    tails = _tails(region, edges) - heads if is_top else frozenset[str]()
    return HostOrder(heads, tails, _awaited(region, edges, heads, tails))


@dataclass(frozen=True, eq=False)
class _Edges:
    """For each operation, by name, those that it needs and those that need it."""

    sources: Mapping[str, list[Operation]]
    users: Mapping[str, list[Operation]]


def _edges(region: Region) -> _Edges:
    sources: dict[str, list[Operation]] = {}
    users: dict[str, list[Operation]] = defaultdict(list)
    for op in region.ops:
        sources[op.name] = []
        for source in sources_of(op):
            if source.name not in region.names:
                continue
            if _is_removed(region, source):
                sources[op.name] += sources[source.name]
            else:
                sources[op.name].append(source)
        if not _is_removed(region, op):
            for source in sources[op.name]:
                users[source.name].append(op)
    return _Edges(sources, users)


def _is_removed(region: Region, op: Operation) -> bool:
    attrs = region.nodes[op.name].attr
    return any(mark in attrs for mark in _REMOVED)


def _heads(region: Region, edges: _Edges) -> frozenset[str]:
    heads: set[str] = set()
    for op in region.ops:
        needs_device = any(source.name not in heads for source in edges.sources[op.name])
        if region.cluster_of(op) is not None and not needs_device:
            heads.add(op.name)
    return frozenset(heads)


def _tails(region: Region, edges: _Edges) -> frozenset[str]:
    tails: set[str] = set()
    for op in reversed(region.ops):
        is_needed = any(user.name not in tails for user in edges.users.get(op.name, ()))
        if region.cluster_of(op) is not None and not is_needed:
            tails.add(op.name)
    return frozenset(tails)


def _awaited(
    region: Region, edges: _Edges, heads: frozenset[str], tails: frozenset[str]
) -> frozenset[str]:
    """Return the host operations that the device waits for, with those that they need.

    The tensors of a cluster also signal that the operations awaited in the cluster have run.
    """
    host = [op for op in region.ops if region.cluster_of(op) is not None]
    middle = {op.name: op for op in host if op.name not in heads | tails}
    taken = _taken(region, tails) & middle.keys()
    clusters = {region.cluster_of(middle[name]) for name in taken}
    waited_for = {
        name
        for name, op in middle.items()
        if any(region.cluster_of(user) is None for user in edges.users[name])
        and region.cluster_of(op) in clusters
    }
    return frozenset(
        needed(
            [middle[name] for name in (taken | waited_for)],
            lambda op: op.name in middle,
        )
    )


def _taken(region: Region, tails: frozenset[str]) -> frozenset[str]:
    """Return the operations whose tensors the device takes, if only to return them."""
    takers = [
        op
        for op in region.ops
        if (region.cluster_of(op) is None or op.name in tails) and not _is_removed(region, op)
    ]
    taken = [*region.outputs, *(tensor for op in takers for tensor in op.inputs)]
    return frozenset(_made_by(region, tensor) for tensor in taken)


def _made_by(region: Region, tensor: Tensor) -> str:
    """Return the name of the operation that makes `tensor`, past removed Identity operations."""
    while tensor.op.name in region.names and _is_removed(region, tensor.op):
        tensor = tensor.op.inputs[0]
    name: str = tensor.op.name
    return name
