"""TPU203: outside_compilation where no TPU computation can be active."""

from __future__ import annotations

from tpulint.absint.domain.context import DATA, NO_KNOWN_CALLER, WITH
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import called_in_place
from tpulint.frontends.tensorflow.strategy import OTHER_STRATEGY
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register

AT_MODULE_LEVEL = "at module level"


@register
class OutsideCompilationNoOp(Rule):
    code = "TPU203"
    name = "outside-compilation-no-op"
    severity = Severity.WARNING
    summary = "outside_compilation where no TPU computation can be active"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        # A call that some caller brings into a computation is in its place.
        inside = {cluster.site for cluster in program.clusters()}
        for cluster in program.orphan_clusters:
            # tensorflow/python/tpu/tpu.py, `outside_compilation`: without a context it just calls.
            context = cluster.context
            if cluster.site in inside or cluster.parent is not None or context.is_guess:
                continue
            kinds = {scope.kind for scope in context.scopes}
            # A dataset's function is traced into a graph of its own, which runs on the host.
            if DATA in kinds:
                place = "in a function of an input pipeline"
            elif any(it.kind == WITH and it.effect == OTHER_STRATEGY for it in context.scopes):
                place = "in a step of a strategy that is not a TPU's"
            elif NO_KNOWN_CALLER in kinds:
                continue  # the caller that is not seen may be in a computation
            else:
                place = "here" if context.call_chain else AT_MODULE_LEVEL
            report(
                cluster.named.span,
                f"outside_compilation has no effect {place}: no TPU computation is active, and"
                f" {traces.callee_name(cluster.callee)} runs as a plain call; call it directly",
                fix=called_in_place(cluster, is_only_place=place == AT_MODULE_LEVEL),
            )
