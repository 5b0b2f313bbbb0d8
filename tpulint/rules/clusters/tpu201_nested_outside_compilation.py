"""TPU201: a host cluster is opened while another one is open."""

from __future__ import annotations

from tpulint.absint.domain.events import Cluster
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import called_in_place
from tpulint.finding import Applicability, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import (
    OPENED_BY_CALL,
    guards_nesting,
    is_after_step,
    is_graph_mode,
    may_be_guarded,
)
from tpulint.rules.base import Report, Rule, register


@register
class NestedOutsideCompilation(Rule):
    code = "TPU201"
    name = "nested-outside-compilation"
    severity = Severity.ERROR
    summary = "a host cluster is reached from inside another one"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for cluster in [*program.clusters(), *program.orphan_clusters]:
            outer = cluster.parent
            if (
                outer is None
                or cluster.kind not in OPENED_BY_CALL
                or is_after_step(cluster.context)
            ):
                continue
            # `if not in_outside_compilation():` around the call: the author has seen to it.
            if guards_nesting(cluster.context):
                continue
            # tpu_replication.py raises "Cannot nest outside_compilation clusters" in graphs only.
            graph = is_graph_mode(cluster)
            report(
                cluster.named.span,
                message(cluster, outer, graph),
                certainty=definite_if(
                    graph and not may_be_guarded(cluster, outer),
                    not cluster.context.is_guess,
                    cluster.computation is not None
                    and is_on_tpu(cluster.computation, cluster.context),
                ),
                trace=traces.nesting_trace(cluster, outer),
                fix=called_in_place(cluster),
            )


def message(cluster: Cluster, outer: Cluster, graph: bool) -> str:
    inner, around = traces.callee_name(cluster.callee), traces.callee_name(outer.callee)
    if graph or cluster.computation is None:
        return (
            f"{inner} is sent to the host from {around}, which already runs on the host:"
            " TensorFlow refuses to nest outside_compilation; call it directly"
        )
    return (
        f"{inner} is sent to the host from {around}, which already runs on the host:"
        " under tf.function the inner cluster takes its operations out of the outer one; call it"
        " directly"
    )
