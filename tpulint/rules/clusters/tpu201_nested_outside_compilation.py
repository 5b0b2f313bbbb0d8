"""TPU201: a host cluster is opened while another one is open."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import called_in_place
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import (
    OPENED_BY_CALL,
    guards_nesting,
    is_after_step,
    is_graph_mode,
    may_be_guarded,
)
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register


@register
class NestedOutsideCompilation(Rule):
    code = "TPU201"
    name = "nested-outside-compilation"
    severity = Severity.ERROR
    summary = "a host cluster is reached from inside another one"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for cluster in [*program.clusters(), *program.orphan_clusters]:
            outer, context = cluster.parent, cluster.context
            if outer is None or cluster.kind not in OPENED_BY_CALL or is_after_step(context):
                continue
            # `if not in_outside_compilation():` around the call: the author has seen to it.
            if guards_nesting(context):
                continue
            # tpu_replication.py raises "Cannot nest outside_compilation clusters" in graphs only.
            is_graph, computation = is_graph_mode(cluster), cluster.computation
            inner, around = traces.callee_name(cluster.callee), traces.callee_name(outer.callee)
            then = "TensorFlow refuses to nest outside_compilation; call it directly"
            if computation is not None and not is_graph:
                then = (
                    "under tf.function the inner cluster takes its operations out of the outer one;"
                    " call it directly"
                )
            report(
                cluster.named.span,
                f"{inner} is sent to the host from {around}, which already runs on the host:"
                f" {then}",
                certainty=definite_if(
                    is_graph and not may_be_guarded(cluster, outer),
                    not context.is_guess,
                    computation is not None and is_on_tpu(computation, context),
                ),
                trace=traces.nesting_trace(cluster, outer),
                fix=called_in_place(cluster),
            )
