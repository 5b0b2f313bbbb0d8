"""Models of collectives and of the replica id."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.context import WITH, Scope
from tpulint.analysis.domain.effects import CROSS_REPLICA
from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import Function, Sequence
from tpulint.analysis.domain.values import UNKNOWN, Bound, Value
from tpulint.analysis.models.call import Call
from tpulint.finding import Certainty
from tpulint.knowledge import seam
from tpulint.ordering.operations import AGREEMENT_CALLS


def answer(this: Call) -> Value | None:
    if this.name in seam.REPLICA_ID:
        return Tensor(this.frame.context, this.site, per_replica=True, replica_id=True)
    if this.name in seam.COLLECTIVES:
        return _collective(this)
    return None


def _collective(this: Call) -> Value:
    """`merge_call(fn, args)` calls its function once; the others take tensors."""
    callee = this.get("merge_fn", 0)
    if this.name == "merge_call" and isinstance(callee, (Function, Bound)):
        args = this.get("args", 1)
        items = args.items if isinstance(args, Sequence) else []
        scope = Scope(WITH, this.site, effect=CROSS_REPLICA)
        return this.run_inside(scope, callee, [UNKNOWN, *items])
    made = this.operation(certainty=Certainty.DEFINITE)
    if made.operation is not None:
        made.operation.kept = True
    if this.name in AGREEMENT_CALLS:
        return replace(made, per_replica=False, replica_id=False, uniform=True)
    return made
