"""TPU208: the host function cannot take the arguments that are given with it."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.arity import misfit
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import OPENED_BY_CALL, arity_mismatch
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class CalleeArity(Rule):
    code = "TPU208"
    name = "callee-arity"
    severity = Severity.ERROR
    summary = "the host function cannot take its arguments"

    def check(self, program: Program, report: Report) -> None:
        for cluster in [*program.clusters(), *program.orphan_clusters]:
            # `host_call` and `eval_metrics` have checks of their own: TPU602.
            wrong = arity_mismatch(cluster, misfit) if cluster.kind in OPENED_BY_CALL else None
            if wrong is not None:
                name = traces.callee_name(wrong.callee)
                report(
                    cluster.named.span,
                    f"{name} does not accept the arguments of outside_compilation: {wrong.reason};"
                    " pass what it takes",
                    certainty=definite_if(wrong.is_certain),
                )
