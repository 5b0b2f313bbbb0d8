"""TPU207: the device uses a tensor that a host cluster made and did not return."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.rules.base import Report
from tpulint.rules.tpu207_tensor_escape import Escape, escapes


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for each in escapes(computation):
            tensor = each.use.tensor
            assert tensor.made is not None and tensor.site is not None
            steps = [
                traces.entry(computation),
                *traces.to_cluster(computation, each.cluster),
                *traces.into_cluster(each.cluster, tensor.made),
                traces.step(HOST_LANE, tensor.site, "makes the tensor and stores it"),
                *traces.calls(DEVICE_LANE, each.cluster.context, each.use.context),
                traces.step(DEVICE_LANE, each.use.site, "uses the host's tensor"),
            ]
            report(
                each.use.site.span,
                message(each),
                certainty=each.certainty,
                trace=tuple(steps),
            )


def message(escape: Escape) -> str:
    host = traces.callee_name(escape.cluster.callee)
    return (
        f"the device uses a tensor that {host} made on the host and did not return:"
        " return it from the host function"
    )
