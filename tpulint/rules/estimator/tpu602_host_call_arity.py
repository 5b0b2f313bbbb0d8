"""TPU602: the function of host_call or eval_metrics cannot take the tensors that go with it."""

from __future__ import annotations

from inspect import Parameter, Signature

from tpulint.absint.domain.events import Arguments
from tpulint.absint.domain.values import Partial, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.arity import misfit, signature_of
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import arity_mismatch
from tpulint.queries.entry_calls import host_calls
from tpulint.rules.base import Program, Report, Rule, Severity, register

PLAIN = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@register
class HostCallArity(Rule):
    code = "TPU602"
    name = "host-call-arity"
    severity = Severity.ERROR
    summary = "the host_call function cannot take its tensors"

    def check(self, program: Program, report: Report) -> None:
        for computation, cluster in host_calls(program):
            wrong = arity_mismatch(cluster, _fault)
            if wrong is not None:
                name = traces.callee_name(wrong.callee)
                report(
                    cluster.named.span,
                    f"{name} does not accept the tensors of `{cluster.kind}`: {wrong.reason}; pass"
                    " the tensors that it takes",
                    certainty=definite_if(wrong.is_certain),
                    trace=traces.device_path(computation, cluster.context),
                )


def _fault(callee: Value, arguments: Arguments) -> str | None:
    """Return TPUEstimator's or Python's error.

    A list must be exactly as long as the function has parameters, those with defaults
    included; a dict is given by keyword (tpu_estimator.py: `_OutfeedHostCall.validate`).
    """
    signature = signature_of(callee)
    if signature is None:
        return None
    rows = signature.parameters
    kinds = {row.kind for row in rows.values()}
    if any(argument.star for argument in arguments):
        # A dict that may have more keys: one that the function does not take is an error.
        keys = (argument.keyword for argument in arguments if argument.keyword)
        unexpected = next((key for key in keys if key not in rows), None)
        if unexpected is None or Parameter.VAR_KEYWORD in kinds:
            return None
        return f"got an unexpected keyword argument '{unexpected}'"
    # tpu_estimator.py, `_OutfeedHostCall.validate`, counts with `fn_args`, defaults included.
    is_list = all(argument.keyword is None for argument in arguments)
    if is_list and Parameter.VAR_POSITIONAL not in kinds:
        count = _parameters(callee, signature)
        if count != len(arguments):
            return f"it has {_counted(count, 'parameter')} for {_counted(len(arguments), 'tensor')}"
    return misfit(callee, arguments)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _parameters(callee: Value, signature: Signature) -> int:
    """Return the number of parameters that TPUEstimator counts."""
    names = [row.name for row in signature.parameters.values() if row.kind in PLAIN]
    while isinstance(callee, Partial):
        bound = {name for name, _ in callee.kwargs}
        names = [name for name in names[len(callee.args) :] if name not in bound]
        callee = callee.function
    return len(names)
