"""TPU102: a variable of a TPUStrategy scope is touched in a host cluster."""

from __future__ import annotations

from tpulint.absint.domain.events import Access
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import by_value, pass_by_value
from tpulint.finding import Applicability, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.variable_conflicts import (
    certainty_of_touch,
    conflicts,
    host_touches,
    is_on_device,
)
from tpulint.rules.base import Report, Rule, register


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
                if cluster and is_on_device(access.variable) and id(access) not in steps:
                    report(
                        access.site.span,
                        message(access, traces.callee_name(cluster.callee)),
                        certainty=certainty_of_touch(computation, access),
                        trace=traces.into_host(
                            computation, access, f"{traces.verb(access)} `{access.variable.name}`"
                        ),
                        fix=pass_by_value(computation, cluster, access),
                    )


def message(access: Access, host: str) -> str:
    return (
        f"{host} {traces.verb(access)} `{access.variable.name}` on the host, but a variable of a"
        " TPUStrategy scope lives on the device, with one copy per replica;"
        f" {by_value(host, access.mode)}"
    )
