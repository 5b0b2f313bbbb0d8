"""Program order: which operations of a region must run before which others.

A plain `tf.Graph` orders side effects only where the user wrote a control dependency. Within a
replica they run here in program order: accesses of one resource if one of them writes, and host
operations with an effect that no tensor shows (prints, Python functions), infeed and outfeed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from tpulint.runtime.extract.bodies import CALL, COLLECTIVES
from tpulint.runtime.extract.effects import resources_of, writes
from tpulint.runtime.extract.pieces import Side
from tpulint.runtime.extract.region import Operation, Region

_UNORDERED = frozenset(
    {"Assert", "VarHandleOp", "RandomStandardNormal", "RandomUniform", "RandomUniformInt"}
)


def order(region: Region, side: Callable[[Operation], Side]) -> Mapping[str, frozenset[str]]:
    """For each operation the names of those of the region that must run before it."""
    before: dict[str, set[str]] = {}
    for op in region.ops:
        sources = [tensor.op for tensor in op.inputs] + list(op.control_inputs)
        before[op.name] = {source.name for source in sources if source.name in region.names}
    _order_resources(region, side, before)
    _order_effects(region, side, before)
    return {name: frozenset(names - {name}) for name, names in before.items()}


def _order_resources(
    region: Region, side: Callable[[Operation], Side], before: dict[str, set[str]]
) -> None:
    """Accesses from one side; what the two sides do to each other is the locks' business."""
    last_write: dict[tuple[str, bool], str] = {}
    reads: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for op in region.ops:
        for resource in resources_of(op):
            key = (resource, side(op) is Side.HOST)
            if key in last_write:
                before[op.name].add(last_write[key])
            if writes(region, op, resource):
                before[op.name].update(reads.pop(key, ()))
                last_write[key] = op.name
            else:
                reads[key].append(op.name)


def _order_effects(
    region: Region, side: Callable[[Operation], Side], before: dict[str, set[str]]
) -> None:
    last: str | None = None
    for op in region.ops:
        if not _has_hidden_effect(op, side(op)):
            continue
        if last is not None:
            before[op.name].add(last)
        last = op.name


def _has_hidden_effect(op: Operation, side: Side) -> bool:
    if side is Side.FEED:
        return True
    if side is Side.COLLECTIVE or (op.type in COLLECTIVES):
        return False
    if side is Side.CONTROL or op.type in CALL:
        return bool(op.op_def.is_stateful)
    return (
        side is Side.HOST
        and bool(op.op_def.is_stateful)
        and op.type not in _UNORDERED
        and not resources_of(op)
    )
