"""TPU203: outside_compilation where no TPU computation can be active."""

from __future__ import annotations

from tpulint.absint.domain.context import DATA, NO_KNOWN_CALLER, WITH
from tpulint.absint.domain.events import Context
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import called_in_place
from tpulint.finding import Applicability, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import OTHER_STRATEGY
from tpulint.rules.base import Report, Rule, register

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
            if cluster.site in inside or cluster.parent is not None or cluster.context.is_guess:
                continue
            place = _place(cluster.context)
            if place is not None:
                report(
                    cluster.named.span,
                    f"outside_compilation has no effect {place}: no TPU computation is active, and"
                    f" {traces.callee_name(cluster.callee)} runs as a plain call; call it directly",
                    fix=called_in_place(cluster, is_only_place=place == AT_MODULE_LEVEL),
                )


def _place(context: Context) -> str | None:
    """Return where a cluster certainly does nothing; None where a caller is not seen."""
    kinds = {scope.kind for scope in context.scopes}
    # A dataset's function is traced into a graph of its own, and that graph runs on the host.
    if DATA in kinds:
        return "in a function of an input pipeline"
    if any(scope.kind == WITH and scope.effect == OTHER_STRATEGY for scope in context.scopes):
        return "in a step of a strategy that is not a TPU's"
    if NO_KNOWN_CALLER in kinds:
        return None
    return "here" if context.call_chain else AT_MODULE_LEVEL
