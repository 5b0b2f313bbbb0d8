"""TPU502: a shape or size that must be a compile-time constant depends on data."""

from __future__ import annotations

from tpulint.analysis.domain.context import COMPUTATION, WHILE
from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import distinguished
from tpulint.analysis.domain.values import Value
from tpulint.diagnostics.culprits import in_argument
from tpulint.diagnostics.trace_steps import path_to_site
from tpulint.finding import Certainty
from tpulint.queries.device_code import certainty, compiled_calls
from tpulint.rules.base import Report
from tpulint.rules.tpu502_constants import dynamic_arguments, needs_constants


def check(program: Program, report: Report) -> None:
    loops = _loop_sources(program)
    for computation, call in compiled_calls(program):
        if not needs_constants(call) or call.site in loops:
            continue
        for argument, what in dynamic_arguments(call):
            sure = certainty(program, computation, call.context)
            vague = isinstance(argument.value, Sequence) and argument.value.open
            found = distinguished(argument.value, kinds=True)
            if vague or any(alternative for _, alternative in found):
                sure = Certainty.POSSIBLE
            culprit = in_argument(argument, _data_in(argument.value))
            named = f"`{culprit.name}`, the " if culprit.name and not culprit.is_holder else ""
            report(
                culprit.span,
                f"{named}{what} of `{call.last}`{',' if named else ''} must be known when the"
                " computation is compiled, but depends on data",
                certainty=sure,
                trace=path_to_site(
                    computation, call.context, call.site, f"needs {what} to compile `{call.last}`"
                ),
            )


def _data_in(value: Value) -> Tensor:
    return next(tensor for tensor, _ in distinguished(value) if tensor.data)


def _loop_sources(program: Program) -> set[Site]:
    """The places of what loops run over: `for i in tf.range(n)` becomes a loop without a range."""
    places = {call.context.scopes for each in program.computations for call in each.calls}
    return {
        site
        for scopes in places
        for scope in scopes.since(COMPUTATION)
        if scope.kind == WHILE and (site := getattr(scope.payload, "site", None)) is not None
    }
