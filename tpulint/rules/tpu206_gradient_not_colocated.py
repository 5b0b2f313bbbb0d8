"""TPU206: the gradient of a host cluster is compiled for the device."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, Certainty
from tpulint.program import trace
from tpulint.program.gradients import Gradient, uncolocated
from tpulint.program.model import Program
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for each in uncolocated(computation):
            sure = each.sure and not each.call.where.is_guess
            report(
                each.call.site.span,
                message(each),
                certainty=computation.certainty if sure else Certainty.POSSIBLE,
                trace=(
                    trace.entry(computation),
                    *trace.to_cluster(computation, each.cluster),
                    trace.step(DEVICE_LANE, each.cluster.site, "takes the host's result"),
                    *trace.calls(DEVICE_LANE, each.cluster.where, each.call.where),
                    trace.step(DEVICE_LANE, each.call.site, "takes the gradient through it"),
                ),
            )


def message(found: Gradient) -> str:
    host = trace.callee_name(found.cluster.callee)
    if found.call.last == "gradient":
        mend = "a GradientTape never places gradients with their operations"
    else:
        mend = "pass colocate_gradients_with_ops=True"
    return f"the gradient of {host}, which runs on the host, is compiled for the device: {mend}"
