"""The cycles of waits: the device program holds a variable that a cluster it waits for wants."""

from __future__ import annotations

from collections.abc import Mapping

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.traces import callee_name
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty
from tpulint.output.program_map.model import Cycle, MapWait
from tpulint.pipeline.program_map.lanes import EventBoxes
from tpulint.queries.variable_conflicts import Conflict, conflicts, is_on_device


def cycles_of(
    program: Program,
    computation: Computation,
    lanes: EventBoxes,
    shown: frozenset[str],
    variables: Mapping[int, str],
) -> tuple[Cycle, ...]:
    """Return the cycles among the nodes that are shown, one for each cluster and variable."""
    found: dict[tuple[str, str], Cycle] = {}
    for each in conflicts(program):
        if each.computation is not computation or not each.waits or is_on_device(each.variable):
            continue
        outer = each.cluster
        while outer.parent is not None:
            outer = outer.parent
        cluster = lanes.of_cluster.get(id(outer))
        variable = variables.get(id(each.variable))
        if cluster is None or variable is None or cluster not in shown:
            continue
        known = found.get((cluster, variable))
        if known is None or known.certainty is Certainty.POSSIBLE:
            found[cluster, variable] = _cycle(each, lanes.call_of(cluster), cluster, variable)
    return tuple(found.values())


def _cycle(conflict: Conflict, call: str, cluster: str, variable: str) -> Cycle:
    name = conflict.variable.name
    host = callee_name(conflict.cluster.callee).replace("`", "")
    verb = "writes" if conflict.device.mode == "write" else "reads"
    wait = f"waits for the result of {host}"
    held = f"{verb} {name}, and holds it until the program ends"
    wanted = f"waits for {name}, which the device program holds"
    return Cycle(
        variable,
        conflict.certainty,
        (
            MapWait(variable, call, DEVICE_LANE, held, conflict.device.site.span),
            MapWait(call, cluster, DEVICE_LANE, wait, conflict.cluster.site.span),
            MapWait(cluster, variable, HOST_LANE, wanted, conflict.host.site.span),
        ),
    )
