"""TPU305: replicas synchronize under a tensor condition."""

from __future__ import annotations

from tpulint.diagnostics.traces import path_to_collective
from tpulint.ordering import Truth, all3
from tpulint.queries.collectives import alike, deciding, under_control
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


@register
class SynchronizationUnderCondition(Rule):
    code = "TPU305"
    name = "synchronization-under-condition"
    severity = Severity.ERROR
    summary = "replicas synchronize under a tensor condition"

    def check(self, program: Program, report: Report) -> None:
        collectives = [
            (computation, call, scopes, all3(map(alike, deciding(scopes))))
            for computation, call, scopes in under_control(program)
        ]
        # Where one way to get there lets replicas part for sure, TPU306 reports the collective.
        divergent = {call.site for _, call, _, agreement in collectives if agreement is Truth.NO}
        for computation, call, scopes, agreement in collectives:
            if call.site not in divergent and agreement is Truth.MAYBE:
                report(
                    call.site.span,
                    f"`{call.last}` runs under a condition on a tensor: replicas that take the "
                    "other branch never reach it, and the rest wait for them; call it on all"
                    " replicas, and choose between values with `tf.where`",
                    certainty=Certainty.POSSIBLE,
                    trace=path_to_collective(computation, call, scopes),
                )
