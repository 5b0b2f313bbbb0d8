"""TPU206: the gradient of a host cluster is compiled for the device."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes.replicated import colocated
from tpulint.finding import DEVICE_LANE, Certainty
from tpulint.queries.premises import certainty_at
from tpulint.rules.base import Report
from tpulint.rules.tpu206_gradients import Gradient, uncolocated


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for each in uncolocated(computation):
            sure = each.sure and not each.call.context.is_guess
            report(
                each.call.site.span,
                message(each),
                certainty=certainty_at(computation, each.call.context)
                if sure
                else Certainty.POSSIBLE,
                trace=(
                    traces.entry(computation),
                    *traces.to_cluster(computation, each.cluster),
                    traces.step(DEVICE_LANE, each.cluster.site, "takes the host's result"),
                    *traces.calls(DEVICE_LANE, each.cluster.context, each.call.context),
                    traces.step(DEVICE_LANE, each.call.site, "takes the gradient through it"),
                ),
                fix=colocated(each.call),
            )


def message(found: Gradient) -> str:
    host = traces.callee_name(found.cluster.callee)
    if found.call.last == "gradient":
        mend = "a GradientTape never places gradients with their operations"
    else:
        mend = "pass colocate_gradients_with_ops=True"
    return f"the gradient of {host}, which runs on the host, is compiled for the device: {mend}"
