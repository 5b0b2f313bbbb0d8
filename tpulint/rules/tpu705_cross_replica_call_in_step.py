"""TPU705: the function given to `run` calls a method that only code outside the replicas may."""

from __future__ import annotations

import re

from tpulint.analysis.domain.context import COMPUTATION, DATA, WITH
from tpulint.analysis.domain.effects import CROSS_REPLICA, UNSEEN
from tpulint.analysis.domain.events import ApiCall, Computation, Context
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.written_tests import tests
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty
from tpulint.knowledge import seam
from tpulint.knowledge.strategies import OF_ALL_REPLICAS, REFUSED_ON_REPLICAS
from tpulint.queries.device_code import LEADS_OUT
from tpulint.queries.strategies import strategy_of
from tpulint.rules.base import Report

METHODS = REFUSED_ON_REPLICAS | OF_ALL_REPLICAS
ASKS_WHERE = re.compile(r"replica_context|has_strategy")
INSTEAD = {
    "reduce": "sum with `all_reduce` of the replica context, or reduce what `{run}` returns",
    "gather": "use `all_gather` of the replica context, or gather what `{run}` returns",
}
OTHERWISE = "call it outside the step, or in a function given to `merge_call`"


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        if computation.kind not in seam.STRATEGY_RUN:
            continue
        for call in computation.calls:
            if call.last not in METHODS or strategy_of(call.receiver) is None:
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


def is_on_replica(context: Context) -> bool:
    """Return whether the context is that of a replica, and no test on the way asks for it."""
    within = list(context.since(COMPUTATION))
    entered = {each.effect for each in within if each.kind == WITH}
    if entered & {CROSS_REPLICA, *LEADS_OUT} or any(each.kind == DATA for each in within):
        return False
    return not any(ASKS_WHERE.search(text) for text, _ in tests(context))


def certainty(computation: Computation, call: ApiCall) -> Certainty:
    """Return the certainty: values made for all replicas do no harm until something takes them."""
    is_unseen = bool(call.context.with_blocks(UNSEEN)) or call.context.is_guess
    sure = call.last in REFUSED_ON_REPLICAS and not is_unseen
    return computation.certainty if sure else Certainty.POSSIBLE


def message(computation: Computation, call: ApiCall) -> str:
    run = computation.kind
    if call.last in OF_ALL_REPLICAS:
        return (
            f"`{call.last}` makes values for all replicas, which one replica cannot use in the"
            f" function given to `{run}`: call it outside, and pass the values"
        )
    instead = INSTEAD.get(call.last, OTHERWISE).format(run=run)
    return f"`{call.last}` cannot be called in the function given to `{run}`: {instead}"
