"""Automatic outside compilation: with soft placement, unsupported operations run on the host.

TensorFlow's MLIR bridge does the same (tf2xla's mark_ops_for_outside_compilation.cc), under the
names "auto0", "auto1", ...; a tensor that one such operation gives another stays on the host.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.ordering.operations import COLLECTIVES, FEEDS
from tpulint.runtime.extract.bodies import bodies, is_call, is_marked
from tpulint.runtime.extract.kernels import needs_the_host
from tpulint.runtime.extract.region import Automatic, Operation, Region, key_of

_NEVER = COLLECTIVES | FEEDS | {"Const"}


def automatic(region: Region) -> Automatic:
    """Return the operations of `region` and its bodies that go to the host by themselves."""
    found = Automatic()
    _visit(region, found, set())
    return found


def _visit(region: Region, found: Automatic, seen: set[int]) -> bool:
    """Add the operations of `region` and its bodies to `found`; return whether there are any."""
    if id(region.graph) in seen:
        return id(region.graph) in found.graphs
    seen.add(id(region.graph))
    wanted: dict[str, Operation] = {}
    holds_some = False
    for op in region.ops:
        if op.type in _NEVER or region.cluster_of(op) is not None:
            continue
        if _goes_to_the_host(region, op):
            wanted[op.name] = op
        else:
            inside = [_visit(body, found, seen) for body in bodies(region, op)]
            holds_some = holds_some or any(inside)
    _with_variants(region, wanted)
    _name_clusters(region, wanted, found)
    if wanted or holds_some:
        found.graphs.add(id(region.graph))
    return bool(wanted) or holds_some


def _goes_to_the_host(region: Region, op: Operation) -> bool:
    """Return whether `op` goes to the host; calls, which are inlined, and marked bodies do not."""
    return not is_call(op) and not is_marked(region, op) and needs_the_host(region, op)


def _with_variants(region: Region, wanted: dict[str, Operation]) -> None:
    """Add the operations that share a variant (list, dataset) with a host one: none crosses."""
    unread = list(wanted.values())
    users: dict[str, list[Operation]] = {}
    for op in region.ops:
        for tensor in op.inputs:
            users.setdefault(tensor.name, []).append(op)
    while unread:
        op = unread.pop()
        others = [tensor.op for tensor in op.inputs if _is_variant(tensor)]
        others += [
            user
            for tensor in op.outputs
            if _is_variant(tensor)
            for user in users.get(tensor.name, ())
        ]
        for other in others:
            if other.name in region.names and other.name not in wanted:
                wanted[other.name] = other
                unread.append(other)


def _is_variant(tensor: object) -> bool:
    return bool(tensor.dtype.base_dtype.name == "variant")  # type: ignore[attr-defined]


def _name_clusters(region: Region, wanted: dict[str, Operation], found: Automatic) -> None:
    """Put operations that pass tensors to each other into one cluster, in program order."""
    for op in region.ops:
        if op.name in wanted and key_of(region, op) not in found.clusters:
            name = f"auto{len(set(found.clusters.values()))}"
            for one in _connected(op, wanted):
                found.clusters[key_of(region, one)] = name


def _connected(start: Operation, wanted: dict[str, Operation]) -> Iterable[Operation]:
    together = {start.name: start}
    unread = [start]
    while unread:
        op = unread.pop()
        others = [tensor.op for tensor in op.inputs]
        others += [user for tensor in op.outputs for user in tensor.consumers()]
        for other in others:
            if other.name in wanted and other.name not in together:
                together[other.name] = other
                unread.append(other)
    return together.values()
