"""TPU406: what a TPU computation made is fetched, fed or given to a hook outside it."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Argument, Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import Opaque, Value
from tpulint.diagnostics.traces import Culprit, in_argument, path_to_site
from tpulint.finding import Step
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.entry_calls import SIGNATURES, replicas
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

RUNS = frozenset(["run", "partial_run", "make_callable"])
HOOKS = ("training_hooks", "evaluation_hooks", "prediction_hooks")


@register
class UnfetchableOp(Rule):
    code = "TPU406"
    name = "unfetchable-op"
    severity = Severity.ERROR
    summary = "what a TPU computation made is fetched or fed outside it"

    def check(self, program: Program, report: Report) -> None:
        for call in program.calls:
            for taken, argument in taken_by(call):
                _check_fetch(call, taken, argument, report)
        for computation in program.computations:
            for call in hooks_of_spec(computation):
                for passed in call.arguments:
                    _check_hook(computation, call, passed, report)


def _check_fetch(call: ApiCall, taken: Value, argument: Argument | None, report: Report) -> None:
    for tensor, alternative in with_alternatives(taken):
        home = tensor.made
        # Each root that is read has graphs of its own.
        if alternative or home is None or home.run != call.context.run:
            continue
        payloads = (scope.payload for scope in home.scopes)
        # The computation that made it, which has ended where the call stands.
        computation = next((it for it in payloads if isinstance(it, Computation)), None)
        if computation is None or computation.mode != "graph":
            continue
        # With one replica, what a host cluster makes can be fetched.
        if home.cluster is not None:
            count = replicas(computation) if computation.kind in SIGNATURES else None
            if count is None or count < 2:
                continue
        culprit = Culprit(call.site.span, "") if argument is None else in_argument(argument, tensor)
        report(
            culprit.span,
            f"{culprit.called('this tensor')} was made inside the computation of"
            f" `{computation.kind}` and does not exist outside: return it from the computation",
            certainty=definite_if(
                computation.certainty is Certainty.DEFINITE, not call.context.is_guess
            ),
            trace=_trace(computation, tensor),
        )


def _trace(computation: Computation, tensor: Tensor) -> tuple[Step, ...]:
    assert tensor.made is not None
    assert tensor.site is not None
    return path_to_site(computation, tensor.made, tensor.site, "is made in the computation")


def _check_hook(
    computation: Computation, call: ApiCall, argument: Argument, report: Report
) -> None:
    for tensor, alternative in with_alternatives(argument.value):
        home = tensor.made
        here = home is not None and home.computation is computation and home.on_device
        if here and not alternative:
            culprit = in_argument(argument, tensor)
            report(
                culprit.span,
                f"{culprit.called('this tensor')} is made on the device, where a session hook"
                " cannot fetch it: pass it to `host_call`",
                certainty=definite_if(is_on_tpu(computation, call.context)),
                trace=_trace(computation, tensor),
            )


def taken_by(call: ApiCall) -> Iterator[tuple[Value, Argument | None]]:
    """Yield the values that this call of a session fetches or is fed."""
    receiver = call.receiver
    if (
        call.last in RUNS
        and isinstance(receiver, (ExternalObject, Opaque))
        and naming.SESSION.is_in(receiver.last)
    ):
        for argument in call.arguments:
            yield argument.value, argument
            if isinstance(argument.value, Mapping):
                yield Sequence("list", argument.value.keys), argument
    elif call.last == "eval" and isinstance(receiver, Tensor):
        yield receiver, None
    elif naming.HOOK.is_in(call.last) or call.last == "SessionRunArgs":
        for argument in call.arguments:
            yield argument.value, argument


def hooks_of_spec(computation: Computation) -> Iterator[ApiCall]:
    """Yield the calls that made a TPUEstimatorSpec's hooks, which run outside the computation."""
    for number, spec in enumerate(computation.calls):
        # Hooks of a plain EstimatorSpec never meet a TPU.
        if spec.last != "TPUEstimatorSpec":
            continue
        lists = [spec.value(name) for name in HOOKS]
        hooks = [hook for it in lists if isinstance(it, Sequence) for hook in it.items]
        # Later calls may add to the same list, where no TPU is meant.
        for call in computation.calls[:number] if hooks else ():
            if naming.HOOK.is_in(call.last) and any(call.result is hook for hook in hooks):
                yield call
