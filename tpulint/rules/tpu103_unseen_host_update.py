"""TPU103: the device and a host cluster touch one variable, and neither sees the other."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.finding import Certainty
from tpulint.queries.variable_conflicts import Conflict, conflicts, is_on_device
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for each in conflicts(program):
        if each.waits or each.of_step or is_on_device(each.variable) or not each.changes:
            continue
        if each.host.mode == "read" and _ends_the_step(each):
            continue
        # What runs before the device program is unseen only by what stands before it.
        sure = each.certainty if each.cluster.computed_inputs else Certainty.POSSIBLE
        report(each.host.site.span, message(each), certainty=sure, trace=traces.apart(each))


def _ends_the_step(conflict: Conflict) -> bool:
    """Return whether the cluster's results are only returned: it runs after the device, and sees
    it.
    """
    returned = tensors(conflict.computation.result or NONE)
    return any(each.result_of is conflict.cluster for each in returned)


def message(conflict: Conflict) -> str:
    name = conflict.variable.name
    host = traces.callee_name(conflict.cluster.callee)
    if conflict.host.mode == "write":
        return f"{host} writes `{name}` on the host, unseen by the device program that uses it"
    return f"{host} reads `{name}` on the host, and does not see what the device program writes"
