"""TPU708: a Keras loss that reduces by itself is called in a custom training step."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Computation, Tensor
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.names.requirements import allowed
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import device_path, device_step
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.keras_models import is_loss, reduction_of
from tpulint.knowledge import seam
from tpulint.knowledge.keras import KERAS_3
from tpulint.queries.device_code import is_compiled
from tpulint.queries.premises import certainty_at
from tpulint.queries.targets import KERAS, target_at
from tpulint.rules.base import Report, Rule, register

AVERAGES = "compute_average_loss"
INSTEAD = 'make it with `reduction="none"` and average its result over the global batch'


@register
class LossReductionInStep(Rule):
    code = "TPU708"
    name = "loss-reduction-in-step"
    severity = Severity.ERROR
    summary = "a Keras loss that reduces by itself, called in a custom training step"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in seam.STRATEGY_RUN:
                continue
            averaged = set()
            for call, loss, site in averaged_twice(computation):
                averaged.add(site)
                report(
                    call.site.span,
                    f"`{AVERAGES}` averages the losses of samples, but `{loss.last}` returns one"
                    f" number for the batch: {INSTEAD}",
                    certainty=_least(computation, call),
                    trace=device_path(
                        computation,
                        call.context,
                        device_step(site, "reduces the losses to one number"),
                        device_step(call.site, "expects one loss per sample"),
                    ),
                )
            for call, loss in called(computation):
                sure = refusal(program, call)
                if sure is None or call.site in averaged or reduction_of(loss) != "mean":
                    continue
                if _least(computation, call) is Certainty.POSSIBLE:
                    sure = Certainty.POSSIBLE
                report(
                    call.site.span,
                    f"`{loss.last}` reduces the losses by itself, which Keras 2 refuses in a custom"
                    f" training step: {INSTEAD}",
                    certainty=sure,
                    trace=(
                        traces.step(HOST_LANE, loss.site, f"makes the `{loss.last}`"),
                        *device_path(
                            computation,
                            call.context,
                            device_step(call.site, "calls it in the step"),
                        ),
                    ),
                )


def called(computation: Computation) -> Iterator[tuple[ApiCall, ExternalObject]]:
    """Yield the calls of Keras' losses that are compiled for the device."""
    for call in computation.calls:
        loss = call.receiver
        is_called = call.last == "__call__" and is_compiled(call.context)
        if is_called and isinstance(loss, ExternalObject) and is_loss(loss):
            yield call, loss


def averaged_twice(computation: Computation) -> Iterator[tuple[ApiCall, ExternalObject, Site]]:
    """Yield the averages of what a loss has reduced already, each with the loss and its site."""
    made = {id(call.result): (loss, call.site) for call, loss in called(computation)}
    for call in computation.calls:
        given = call.argument("per_example_loss", 0) if call.last == AVERAGES else None
        if given is None or not isinstance(given.value, Tensor):
            continue
        source = made.get(id(given.value))
        if source is None or not is_compiled(call.context):
            continue
        if reduction_of(source[0]) in ("sum", "mean"):
            yield call, *source


def refusal(program: Program, call: ApiCall) -> Certainty | None:
    """Return how sure it is that the target's Keras refuses the call; None where it does not."""
    target = target_at(program, call.site, KERAS)
    old = ~allowed([KERAS_3])
    if not target.stated or not target.mask & old:
        return None
    return Certainty.DEFINITE if not target.mask & ~old else Certainty.POSSIBLE


def _least(computation: Computation, call: ApiCall) -> Certainty:
    return Certainty.POSSIBLE if call.context.is_guess else certainty_at(computation, call.context)
