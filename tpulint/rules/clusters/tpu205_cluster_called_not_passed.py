"""TPU205: a function is called where it should be passed."""

from __future__ import annotations

from tpulint.absint.domain.events import Argument, Computation
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics.fixes import OPENS, function_passed
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import called_in_place, is_result_of_call
from tpulint.queries.entry_calls import argument, is_replicated
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register
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
                report(
                    call.site.span,
                    f"{called_name(call)} is called here, on the device, and only its result is"
                    f" passed to {OPENS}: pass {called_name(call)} itself, then its arguments",
                    certainty=definite_if(gives_no_function(call), not cluster.context.is_guess),
                    fix=function_passed(cluster),
                )
        for entry in program.computations:
            call = function_of_entry(entry)
            if call is not None and is_result_of_call(program, call):
                inputs, context = "args" if is_run(entry) else "inputs", entry.context
                report(
                    call.site.span,
                    f"{called_name(call)} is called here before `{entry.kind}`, which gets only its"
                    f" result: pass {called_name(call)} itself, and its arguments as `{inputs}`",
                    certainty=definite_if(
                        entry.certainty is Certainty.DEFINITE,
                        gives_no_function(call),
                        not context.hides_faults,
                        not context.is_guess,
                    ),
                )


def function_of_entry(entry: Computation) -> Argument | None:
    """Return what a call of `run` or of the replicate family is given to compile."""
    if is_run(entry):
        return entry.call.argument("fn", 0)
    return argument(entry, "computation") if is_replicated(entry) else None


def gives_no_function(call: Argument) -> bool:
    """Return whether the result is no function: an override of a method may return one."""
    is_method = isinstance(call.node, CallNode) and not isinstance(call.node.callee, Name)
    return call.value != NONE or not is_method


def called_name(call: Argument) -> str:
    """Return what is called, as the message says it."""
    name = last_name(call.node.callee) if isinstance(call.node, CallNode) else ""
    return f"`{name}`" if name else "the function"
