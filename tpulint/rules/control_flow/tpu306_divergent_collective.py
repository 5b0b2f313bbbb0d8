"""TPU306: a collective that only some replicas reach."""

from __future__ import annotations

from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.values import Choice
from tpulint.diagnostics.traces import path_to_collective
from tpulint.ordering import Truth
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.collectives import alike, deciding, under_control
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class DivergentCollective(Rule):
    code = "TPU306"
    name = "divergent-collective"
    severity = Severity.ERROR
    summary = "a collective that only some replicas reach"

    def check(self, program: Program, report: Report) -> None:
        for computation, call, scopes in under_control(program):
            deciders = [decider for decider in deciding(scopes) if alike(decider) is Truth.NO]
            if not deciders:
                continue
            # The replica id is different on each replica; its data may still agree.
            by_id = any(isinstance(decider, Tensor) and decider.replica_id for decider in deciders)
            what = "the replica id" if by_id else "the replica's own data"
            doubt = "" if by_id else " (unless this data is the same on all replicas)"
            report(
                call.site.span,
                f"only some replicas reach `{call.last}`: the condition depends on {what}; call it"
                f" on all replicas, and choose between values with `tf.where`{doubt}",
                certainty=on_tpu_if(
                    computation,
                    call.context,
                    by_id,
                    not any(isinstance(scope.payload, Choice) for scope in scopes),
                ),
                trace=path_to_collective(computation, call, scopes),
            )
