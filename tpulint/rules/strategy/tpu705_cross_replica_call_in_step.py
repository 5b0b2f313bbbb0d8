"""TPU705: the function given to `run` calls a method that only code outside the replicas may."""

from __future__ import annotations

from tpulint.absint.domain.context import UNSEEN
from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.objects import ExternalObject
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import (
    OF_ALL_REPLICAS,
    REFUSED_BY_EACH,
    REFUSED_ON_REPLICAS,
)
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.strategies import is_on_replica, strategy_of
from tpulint.rules.base import Report, Rule, register

METHODS = REFUSED_ON_REPLICAS | OF_ALL_REPLICAS
NEXT = "builtins.next"
INSTEAD = {
    "next": "pass it: `{run}(step, args=(next(iterator),))`",
    "reduce": "sum with `all_reduce` of the replica context, or reduce what `{run}` returns",
    "gather": "use `all_gather` of the replica context, or gather what `{run}` returns",
}
OTHERWISE = "call it outside the step, or in a function given to `merge_call`"


@register
class CrossReplicaCallInStep(Rule):
    code = "TPU705"
    name = "cross-replica-call-in-step"
    severity = Severity.ERROR
    summary = "a method of the strategy that a replica cannot call, in the function given to run"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.STRATEGY_RUN:
                continue
            for call in computation.calls:
                is_refused = call.last in METHODS and strategy_of(call.receiver) is not None
                if not is_refused and not takes_next_batch(computation, call):
                    continue
                if is_on_replica(call.context):
                    lane = DEVICE_LANE if call.context.on_device else HOST_LANE
                    report(
                        call.site.span,
                        message(computation, call),
                        certainty=certainty(computation, call),
                        trace=(
                            traces.entry(computation),
                            *traces.calls(lane, computation.context, call.context, skip=1),
                            traces.step(lane, call.site, f"calls `{call.last}` on a replica"),
                        ),
                    )


def takes_next_batch(computation: Computation, call: ApiCall) -> bool:
    """Return whether a replica asks the iterator of all replicas for a batch."""
    # tensorflow/python/distribute/input_lib.py, `DistributedIteratorBase.get_next`
    if computation.kind == "experimental_run" or call.path != NEXT or not call.arguments:
        return False
    iterator = call.arguments[0].value
    if not isinstance(iterator, ExternalObject) or iterator.last != "DistributedDataset":
        return False
    return iterator.context is None or iterator.context.computation is not computation


def certainty(computation: Computation, call: ApiCall) -> Certainty:
    """Return the certainty: values made for all replicas do no harm until something takes them."""
    is_unseen = bool(call.context.with_blocks(UNSEEN)) or call.context.is_guess
    # Nothing fails before a replica takes its part of the value.
    if is_unseen or call.last not in (*REFUSED_ON_REPLICAS, "next"):
        return Certainty.POSSIBLE
    return Certainty.DEFINITE if call.last in REFUSED_BY_EACH else computation.certainty


def message(computation: Computation, call: ApiCall) -> str:
    run = computation.kind
    if call.last in OF_ALL_REPLICAS:
        return (
            f"`{call.last}` makes values for all replicas, but in the function given to `{run}` a"
            " single replica cannot use them: call it outside, and pass the values"
        )
    instead = INSTEAD.get(call.last, OTHERWISE).format(run=run)
    return f"`{call.last}` cannot be called in the function given to `{run}`: {instead}"
