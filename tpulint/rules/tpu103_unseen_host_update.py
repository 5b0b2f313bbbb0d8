"""TPU103: the device and a host cluster touch one variable, and neither sees the other."""

from __future__ import annotations

from tpulint.program import trace
from tpulint.program.conflicts import Conflict, conflicts, is_on_device
from tpulint.program.model import Program
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for each in conflicts(program):
        if each.waits or each.of_step or is_on_device(each.variable) or not each.changes:
            continue
        report(
            each.host.site.span,
            message(each),
            certainty=each.certainty,
            trace=trace.apart(each),
        )


def message(conflict: Conflict) -> str:
    name = conflict.variable.name
    host = trace.callee_name(conflict.cluster.callee)
    if conflict.host.mode == "write":
        return f"{host} writes `{name}` on the host, unseen by the device program that uses it"
    return f"{host} reads `{name}` on the host, and does not see what the device program writes"
