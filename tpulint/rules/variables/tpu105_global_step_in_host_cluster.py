"""TPU105: a host cluster reads the step that the computation around it counts."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import pass_by_value
from tpulint.queries.variable_conflicts import Conflict, certainty_of_touch, conflicts, is_on_device
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register


@register
class GlobalStepInHostCluster(Rule):
    code = "TPU105"
    name = "global-step-in-host-cluster"
    severity = Severity.ERROR
    summary = "a host cluster reads the global step that the computation updates"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for conflict in conflicts(program):
            # A step that both sides merely read in order does no harm.
            is_told = conflict.waits or conflict.stale or is_on_device(conflict.variable)
            if not conflict.of_step or not is_told:
                continue
            if is_on_device(conflict.variable):
                certainty = certainty_of_touch(conflict.computation, conflict.host)
            else:
                certainty = conflict.certainty if conflict.waits else Certainty.POSSIBLE
            trace = traces.deadlock if conflict.waits else traces.stale_read_trace
            report(
                conflict.host.site.span,
                message(conflict),
                certainty=certainty,
                trace=trace(conflict),
                fix=pass_by_value(conflict.computation, conflict.cluster, conflict.host),
            )


def message(conflict: Conflict) -> str:
    name = conflict.variable.name
    host = traces.callee_name(conflict.cluster.callee)
    if conflict.waits:
        return (
            f"{host} reads the step `{name}` on the host, while the device program increments it"
            f" and waits for {host}: deadlock; pass the step to the host as a tensor"
        )
    if is_on_device(conflict.variable):
        return (
            f"{host} reads the step `{name}` on the host, but a variable of a TPUStrategy scope"
            " lives on the device, with one copy per replica; pass the step to the host as a tensor"
        )
    return (
        f"{host} reads the step `{name}` on the host, but the device program increments it:"
        " the value may belong to another step; pass it to the host as a tensor"
    )
