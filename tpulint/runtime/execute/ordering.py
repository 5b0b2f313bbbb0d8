"""The operations that a piece waits for, apart from its inputs."""

from __future__ import annotations

from tpulint.runtime.execute.places import Places
from tpulint.runtime.extract.pieces import Piece
from tpulint.runtime.extract.plan import Plan
from tpulint.runtime.extract.region import Operation


def waits_of(planned: Plan, op: Operation, own: frozenset[str], places: Places) -> list[Operation]:
    """Return the operations outside its piece that `op` waits for, apart from its inputs."""
    if op.name not in planned.before or op.type == "Const":
        return []
    data = {tensor.op.name for tensor in op.inputs}
    earlier = planned.before[op.name]
    waits_for = [places.operations[name] for name in sorted(earlier - own - data)]
    return waits_for if earlier else [*waits_for, *places.entry]


def all_wait_for(
    planned: Plan, piece: Piece, own: frozenset[str], places: Places
) -> list[Operation]:
    found = {other.name: other for op in piece.ops for other in waits_of(planned, op, own, places)}
    return list(found.values())
