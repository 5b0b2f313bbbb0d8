"""TPU102: a variable of a TPUStrategy scope is touched in a host cluster."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import by_value, pass_by_value
from tpulint.queries.variable_conflicts import (
    certainty_of_touch,
    conflicts,
    host_touches,
    is_on_device,
)
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register


@register
class DeviceVariableInHostCluster(Rule):
    code = "TPU102"
    name = "device-variable-in-host-cluster"
    severity = Severity.ERROR
    summary = "a variable of a TPUStrategy scope is touched in a host cluster"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        # The global step under a strategy is reported once, by TPU105.
        steps = {id(conflict.host) for conflict in conflicts(program) if conflict.of_step}
        for computation in program.computations:
            for access in host_touches(computation):
                cluster = access.context.cluster
                if cluster is None or id(access) in steps or not is_on_device(access.variable):
                    continue
                does = f"{traces.verb(access)} `{access.variable.name}`"
                host = traces.callee_name(cluster.callee)
                report(
                    access.site.span,
                    f"{host} {does} on the host, but a variable of a TPUStrategy scope lives on the"
                    f" device, with one copy per replica; {by_value(host, access.mode)}",
                    certainty=certainty_of_touch(computation, access),
                    trace=traces.into_host(computation, access, does),
                    fix=pass_by_value(computation, cluster, access),
                )
