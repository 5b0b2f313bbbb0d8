"""TPU101: a host cluster wants the variable that the device program, which waits for it, holds."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import by_value, pass_by_value
from tpulint.queries.variable_conflicts import conflicts, is_on_device
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register


@register
class HostVariableDeadlock(Rule):
    code = "TPU101"
    name = "host-variable-deadlock"
    severity = Severity.ERROR
    summary = "a host cluster waits for a variable that the waiting device program holds"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for conflict in conflicts(program):
            # A step is TPU105, and a strategy's variable TPU102: each has another remedy.
            if not conflict.waits or conflict.of_step or is_on_device(conflict.variable):
                continue
            name, host = conflict.variable.name, traces.callee_name(conflict.cluster.callee)
            report(
                conflict.host.site.span,
                f"{host} {traces.verb(conflict.host)} `{name}` on the host, while the device"
                f" program holds `{name}` and waits for {host}: deadlock;"
                f" {by_value(host, conflict.host.mode)}",
                certainty=conflict.certainty,
                trace=traces.deadlock(conflict),
                fix=pass_by_value(conflict.computation, conflict.cluster, conflict.host),
            )
