"""TPU705: the function given to `run` calls a method that only code outside the replicas may."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.context import UNSEEN
from tpulint.absint.domain.events import FOR, ApiCall, Computation
from tpulint.absint.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.frontends.tensorflow.knowledge import strategies, tf_names
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import TAKES_NEXT, batches_taken_by
from tpulint.queries.strategies import is_on_replica, strategy_of
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

METHODS = strategies.REFUSED_ON_REPLICAS | strategies.OF_ALL_REPLICAS
PASS_IT = "pass it: `{run}(step, args=(next(iterator),))`"
INSTEAD = {
    "next": PASS_IT,
    **dict.fromkeys(TAKES_NEXT, PASS_IT),
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
                context = call.context
                for site, method in refused(computation, call):
                    if not is_on_replica(context):
                        break  # asked last: it reads the tests on the way
                    lane = DEVICE_LANE if context.on_device else HOST_LANE
                    what = "loops over the dataset" if method == FOR else f"calls `{method}`"
                    is_unseen = bool(context.with_blocks(UNSEEN)) or context.is_guess
                    is_certain = computation.certainty is Certainty.DEFINITE
                    report(
                        site.span,
                        message(computation.kind, method),
                        certainty=definite_if(
                            is_certain or method in strategies.REFUSED_BY_EACH,
                            # Values for all do no harm before a replica takes its part of them.
                            not is_unseen and method not in strategies.OF_ALL_REPLICAS,
                        ),
                        trace=(
                            traces.entry(computation),
                            *traces.calls(lane, computation.context, context, skip=1),
                            traces.step(lane, site, f"{what} on a replica"),
                        ),
                    )


def refused(computation: Computation, call: ApiCall) -> Iterator[tuple[Site, str]]:
    """Yield what a replica is refused of a call: the call, or the loop over all batches."""
    if call.last in METHODS and strategy_of(call.receiver) is not None:
        yield call.site, call.last
    taken = batches_taken_by(call)
    # tensorflow/python/distribute/input_lib.py, `DistributedIteratorBase.get_next`
    if taken is not None and computation.kind != "experimental_run":
        iterated, site = taken
        if iterated.context.computation is not computation:
            yield site, call.last


def message(run: str, method: str) -> str:
    if method == FOR:
        return (
            f"the function given to `{run}` cannot loop over the dataset of all replicas: loop"
            f" outside, and pass each batch: `{run}(step, args=(batch,))`"
        )
    if method in strategies.OF_ALL_REPLICAS:
        return (
            f"`{method}` makes values for all replicas, but in the function given to `{run}` a"
            " single replica cannot use them: call it outside, and pass the values"
        )
    instead = INSTEAD.get(method, OTHERWISE).format(run=run)
    return f"`{method}` cannot be called in the function given to `{run}`: {instead}"
