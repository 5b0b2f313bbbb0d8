"""TPU205: the host function is called where it should be passed."""

from __future__ import annotations

from tpulint.absint.domain.events import Argument, Cluster
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics.fixes import function_passed
from tpulint.finding import Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import called_in_place
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import CallNode, last_name


@register
class ClusterCalledNotPassed(Rule):
    code = "TPU205"
    name = "cluster-called-not-passed"
    severity = Severity.ERROR
    summary = "the host function is called instead of passed"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for cluster in [*program.clusters(), *program.orphan_clusters]:
            call = called_in_place(cluster)
            if call is not None and isinstance(call.node, CallNode):
                report(
                    call.site.span,
                    message(call.node),
                    certainty=certainty(cluster, call),
                    fix=function_passed(cluster),
                )


def certainty(cluster: Cluster, call: Argument) -> Certainty:
    """Return how sure it is: a method that returns nothing may be there to be overridden."""
    # An override of the method may return a function.
    is_function_lost = call.value != NONE and not cluster.context.is_guess
    return definite_if(is_function_lost)


def message(node: CallNode) -> str:
    name = last_name(node.callee)
    what = f"`{name}`" if name else "the function"
    return (
        f"{what} is called here, on the device, and only its result is passed to"
        f" outside_compilation: pass {what} itself, then its arguments"
    )
