"""TPU708: a Keras loss that reduces by itself is called in a custom training step."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.keras_models import is_loss, reduction_of
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import AVERAGE_LOSS
from tpulint.frontends.tensorflow.target_release import allowed
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.device_code import is_compiled
from tpulint.queries.environment import KERAS, is_for_keras_2, target_at
from tpulint.rules.base import Program, Report, Rule, Severity, register

INSTEAD = 'create it with `reduction="none"` and average its result over the global batch'


@register
class LossReductionInStep(Rule):
    code = "TPU708"
    name = "loss-reduction-in-step"
    severity = Severity.ERROR
    summary = "a Keras loss that reduces by itself, called in a custom training step"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.STRATEGY_RUN:
                continue
            called = list(called_losses(computation))
            averaged = set()
            for call, loss, site in averaged_twice(computation, called):
                averaged.add(site)
                report(
                    call.site.span,
                    f"`{AVERAGE_LOSS}` averages the losses of samples, but `{loss.last}` returns"
                    f" one number for the batch: {INSTEAD}",
                    certainty=on_tpu_if(computation, call.context),
                    trace=traces.device_path(
                        computation,
                        call.context,
                        traces.device_step(site, "reduces the losses to one number"),
                        traces.device_step(call.site, "expects one loss per sample"),
                    ),
                )
            for call, loss in called:
                is_refused = is_refused_by_keras(program, call)
                # keras/losses.py of Keras 2, `Loss._get_reduction`, raises within a replica.
                if is_refused is None or call.site in averaged or reduction_of(loss) != "mean":
                    continue
                report(
                    call.site.span,
                    f"`{loss.last}` reduces the losses by itself, but Keras 2 refuses that in a"
                    f" custom training step: {INSTEAD}",
                    certainty=on_tpu_if(computation, call.context, is_refused),
                    trace=(
                        traces.host_step(loss.site, f"makes the `{loss.last}`"),
                        *traces.path_to(computation, call, "calls it in the step"),
                    ),
                )


def called_losses(computation: Computation) -> Iterator[tuple[ApiCall, ExternalObject]]:
    """Yield the calls of Keras' losses that are compiled for the device."""
    for call in computation.calls:
        loss = call.receiver
        is_called = call.last == "__call__" and is_compiled(call.context)
        if is_called and isinstance(loss, ExternalObject) and is_loss(loss):
            yield call, loss


def averaged_twice(
    computation: Computation, called: list[tuple[ApiCall, ExternalObject]]
) -> Iterator[tuple[ApiCall, ExternalObject, Site]]:
    """Yield the averages of what a loss has reduced already, each with the loss and its site."""
    by_result = {id(call.result): (loss, call.site) for call, loss in called}
    for call in computation.calls:
        losses = call.value("per_example_loss", 0) if call.last == AVERAGE_LOSS else None
        source = by_result.get(id(losses)) if isinstance(losses, Tensor) else None
        if source is None or not is_compiled(call.context):
            continue
        if reduction_of(source[0]) in ("sum", "mean"):
            yield call, *source


def is_refused_by_keras(program: Program, call: ApiCall) -> bool | None:
    """Return whether all of the target's releases refuse the call; None where none does."""
    target = target_at(program, call.site, KERAS)
    old = ~allowed([tf_names.KERAS_3])
    if not target.stated:
        return False if is_for_keras_2(program, call.site) else None
    if not target.mask & old:
        return None
    return not target.mask & ~old
