"""TPU205: the host function is called where it should be passed."""

from __future__ import annotations

from tpulint.analysis.domain.events import Argument, Cluster, Tensor
from tpulint.analysis.domain.objects import Mapping, Sequence
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import NONE, Const, Value, options
from tpulint.diagnostics.fixes.clusters import function_passed
from tpulint.finding import Certainty
from tpulint.queries.nesting import OPENED_BY_CALL
from tpulint.rules.base import Report
from tpulint.syntax.expression_nodes import CallNode, last_name


def check(program: Program, report: Report) -> None:
    for cluster in [*program.clusters(), *program.orphan_clusters]:
        given = cluster.given
        if cluster.kind not in OPENED_BY_CALL or given is None:
            continue
        if not isinstance(given.node, CallNode):
            continue
        if all(is_no_function(each) for each in options(given.value)):
            report(
                given.site.span,
                message(given.node),
                certainty=certainty(cluster, given),
                fix=function_passed(cluster),
            )


def is_no_function(value: Value) -> bool:
    """Return whether this certainly cannot be called."""
    if isinstance(value, Tensor):
        return value.sort in ("tensor", "operation")
    return isinstance(value, (Const, Sequence, Mapping))


def certainty(cluster: Cluster, given: Argument) -> Certainty:
    """A method that returns nothing may be there to be overridden."""
    sure = given.value != NONE and not cluster.context.is_guess
    return Certainty.DEFINITE if sure else Certainty.POSSIBLE


def message(node: CallNode) -> str:
    name = last_name(node.callee)
    what = f"`{name}`" if name else "the function"
    return (
        f"{what} is called here, on the device, and its result passed to outside_compilation:"
        f" pass {what} itself, then its arguments"
    )
