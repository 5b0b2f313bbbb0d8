"""TPU207: the device uses a tensor that a host cluster made and did not return."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.program import trace
from tpulint.program.escapes import Escape, escapes
from tpulint.program.model import Program
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for each in escapes(computation):
            tensor = each.use.tensor
            assert tensor.made is not None and tensor.site is not None
            steps = [
                trace.entry(computation),
                *trace.to_cluster(computation, each.cluster),
                *trace.into_cluster(each.cluster, tensor.made),
                trace.step(HOST_LANE, tensor.site, "makes the tensor, and keeps it aside"),
                *trace.calls(DEVICE_LANE, each.cluster.where, each.use.where),
                trace.step(DEVICE_LANE, each.use.site, "uses the host's tensor"),
            ]
            report(
                each.use.site.span,
                message(each),
                certainty=each.certainty,
                trace=tuple(steps),
            )


def message(escape: Escape) -> str:
    host = trace.callee_name(escape.cluster.callee)
    return (
        f"the device uses a tensor that {host} made on the host and did not return:"
        " return it from the host function"
    )
