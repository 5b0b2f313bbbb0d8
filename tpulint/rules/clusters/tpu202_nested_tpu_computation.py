"""TPU202: a TPU computation is built inside another."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.device_code import is_after_step
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


@register
class NestedTpuComputation(Rule):
    code = "TPU202"
    name = "nested-tpu-computation"
    severity = Severity.ERROR
    summary = "a TPU computation is built inside another"

    def check(self, program: Program, report: Report) -> None:
        for inner in program.computations:
            outer = inner.context.computation
            # An estimator only keeps its model_fn; it traces it when it trains, elsewhere.
            if outer is None or inner.kind == "model_fn" or is_after_step(inner.context):
                continue
            name = traces.callee_name(inner.callee)
            is_certain = inner.certainty is Certainty.DEFINITE
            report(
                inner.site.span,
                f"`{inner.kind}` builds a TPU computation of {name} inside the one that"
                f" `{outer.kind}` builds: TPU computations cannot be nested; call {name} directly",
                # tensorflow/python/tpu/tpu_replication.py: "TPU computations cannot be nested".
                certainty=on_tpu_if(outer, inner.context, is_certain),
                trace=traces.path_to(outer, inner, f"`{inner.kind}` compiles {name} again"),
            )
