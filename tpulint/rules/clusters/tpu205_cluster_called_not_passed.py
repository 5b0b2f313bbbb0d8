"""TPU205: a function is called where it should be passed."""

from __future__ import annotations

from tpulint.absint.domain.events import Argument, Computation, Context
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics.fixes import OPENS, function_passed
from tpulint.finding import Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import called_in_place, is_result_of_call
from tpulint.queries.entry_calls import argument, is_replicated
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import CallNode, Name, last_name


@register
class ClusterCalledNotPassed(Rule):
    code = "TPU205"
    name = "cluster-called-not-passed"
    severity = Severity.ERROR
    summary = "a function is called instead of passed"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for cluster in [*program.clusters(), *program.orphan_clusters]:
            call = called_in_place(program, cluster)
            if call is not None:
                place = f", on the device, and only its result is passed to {OPENS}"
                report(
                    call.site.span,
                    message(call, place, "then its arguments"),
                    certainty=certainty(cluster.context, call),
                    fix=function_passed(cluster),
                )
        for entry in program.computations:
            call = function_of_entry(entry)
            if call is not None and is_result_of_call(program, call):
                place = f" before `{entry.kind}`, which gets only its result"
                inputs = "args" if is_run(entry) else "inputs"
                is_certain = (
                    entry.certainty is Certainty.DEFINITE and not entry.context.hides_faults
                )
                report(
                    call.site.span,
                    message(call, place, f"and its arguments as `{inputs}`"),
                    certainty=certainty(entry.context, call, is_certain),
                )


def function_of_entry(entry: Computation) -> Argument | None:
    """Return what a call of `run` or of the replicate family is given to compile."""
    if is_run(entry):
        return entry.call.argument("fn", 0)
    return argument(entry, "computation") if is_replicated(entry) else None


def certainty(context: Context, call: Argument, *facts: bool) -> Certainty:
    """Return how sure it is: a method that returns nothing may be there to be overridden."""
    # An override of the method may return a function.
    is_method = isinstance(call.node, CallNode) and not isinstance(call.node.callee, Name)
    return definite_if(*facts, call.value != NONE or not is_method, not context.is_guess)


def message(call: Argument, place: str, arguments: str) -> str:
    name = last_name(call.node.callee) if isinstance(call.node, CallNode) else None
    what = f"`{name}`" if name else "the function"
    return f"{what} is called here{place}: pass {what} itself, {arguments}"
