"""TPU103: the device and a host cluster touch one variable, and one does not see the other."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import by_value
from tpulint.ordering import Phase
from tpulint.queries.variable_conflicts import Conflict, conflicts, is_on_device
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class UnseenHostUpdate(Rule):
    code = "TPU103"
    name = "unseen-host-update"
    severity = Severity.ERROR
    summary = "a host cluster and the device share a variable and miss each other's updates"

    def check(self, program: Program, report: Report) -> None:
        for conflict in conflicts(program):
            if conflict.stale and not conflict.of_step and not is_on_device(conflict.variable):
                report(
                    conflict.host.site.span,
                    message(conflict),
                    certainty=conflict.certainty,
                    trace=traces.stale_read_trace(conflict),
                )


def message(conflict: Conflict) -> str:
    name = conflict.variable.name
    host = traces.callee_name(conflict.cluster.callee)
    remedy = by_value(host, conflict.host.mode)
    # `before`: extract_outside_compilation_pass.cc lifts what needs no input from the device.
    if conflict.when is Phase.BEFORE:
        does, verb = traces.verb(conflict.host), traces.verb(conflict.device)
        return (
            f"{host} {does} `{name}` on the host before the device program starts, although"
            f" the device program {verb} it earlier; {remedy}"
        )
    if conflict.host.mode == "write":
        harm = f"writes `{name}` on the host, but the device program does not see that"
    else:
        harm = f"reads `{name}` on the host, but does not see what the device program writes"
    return f"{host} {harm}; {remedy}"
