"""TPU207: the device uses a tensor that a host cluster made and did not return."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.diagnostics.culprits import Culprit, in_calls
from tpulint.finding import DEVICE_LANE, HOST_LANE, Step
from tpulint.rules.base import Report
from tpulint.rules.tpu207_tensor_escape import Escape, escapes


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for each in escapes(computation):
            tensor = each.use.tensor
            culprit = in_calls(computation.calls, each.use.site, tensor)
            assert tensor.made is not None and tensor.site is not None
            steps = [
                traces.entry(computation),
                *traces.to_cluster(computation, each.cluster),
                *traces.into_cluster(each.cluster, tensor.made),
                traces.step(HOST_LANE, tensor.site, "makes the tensor and stores it"),
                *traces.calls(DEVICE_LANE, each.cluster.context, each.use.context),
                Step(DEVICE_LANE, culprit.span, "uses the host's tensor"),
            ]
            report(
                culprit.span,
                message(each, culprit),
                certainty=each.certainty,
                trace=tuple(steps),
            )


def message(escape: Escape, culprit: Culprit) -> str:
    host = traces.callee_name(escape.cluster.callee)
    tensor = f"{culprit.called('')}, which" if culprit.name else "a tensor that"
    return (
        f"the device uses {tensor} {host} makes on the host and does not return: return it"
        " from the host function"
    )
