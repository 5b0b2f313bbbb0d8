"""TPU604: an optimizer in a TPU model_fn that is not wrapped in CrossShardOptimizer."""

from __future__ import annotations

from tpulint.analysis.domain.context import GUESSES
from tpulint.analysis.domain.events import ApiCall, Computation
from tpulint.analysis.domain.objects import ExternalObject, Instance
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import Choice
from tpulint.diagnostics.fixes.estimators import in_cross_shard_optimizer
from tpulint.diagnostics.trace_steps import device_path, device_step
from tpulint.finding import Certainty
from tpulint.knowledge import seam
from tpulint.knowledge.seam import is_tensorflow
from tpulint.queries.estimators import may_have_one_replica
from tpulint.rules.base import Report
from tpulint.rules.tpu604_bare_optimizers import WRAPPER, is_bare

UPDATES = ("minimize", "apply_gradients")


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        if computation.kind != "model_fn" or _sums_by_hand(computation):
            continue
        if may_have_one_replica(computation.call):
            continue
        for calls in _by_place(computation).values():
            if all(is_bare(each.receiver) for each in calls) and _may_be_tpus(computation, calls):
                _say(computation, calls[0], report)


def _may_be_tpus(computation: Computation, updates: list[ApiCall]) -> bool:
    """Return whether a way to a TPUEstimatorSpec leads by an update, where nothing else shows that
    the model_fn is a TPU's.
    """
    if computation.certainty is Certainty.DEFINITE:
        return True
    made = [each.context for each in computation.calls if each.last == "TPUEstimatorSpec"]
    return any(not update.context.excludes(each) for update in updates for each in made)


def _sums_by_hand(computation: Computation) -> bool:
    """Return whether the replicas meet somewhere: then the gradients may be summed without a
    wrapper.
    """
    return any(call.last in seam.COLLECTIVES for call in computation.calls)


def _by_place(computation: Computation) -> dict[Site, list[ApiCall]]:
    """The updates; one place has several where the optimizer is one of several."""
    found: dict[Site, list[ApiCall]] = {}
    for call in [*computation.calls, *computation.updates]:
        if call.last in UPDATES:
            found.setdefault(call.site, []).append(call)
    return found


def _say(computation: Computation, update: ApiCall, report: Report) -> None:
    receiver = update.receiver
    assert isinstance(receiver, (ExternalObject, Instance))
    name = receiver.last if isinstance(receiver, ExternalObject) else receiver.cls.code.name
    made = receiver.site or update.site
    unseen = update.last == "apply_gradients" and _may_be_summed(computation, update)
    seen = isinstance(receiver, Instance) or is_tensorflow(receiver.path)
    guess = unseen or not seen or _is_guess(update)
    report(
        update.site.span,
        f"`{name}` is not wrapped in `{WRAPPER}`: each replica would apply "
        "only its own gradients, which TPUEstimator refuses except under control flow v2",
        certainty=Certainty.POSSIBLE if guess else computation.certainty,
        trace=device_path(
            computation, update.context, device_step(made, "is made without a wrapper")
        ),
        fix=in_cross_shard_optimizer(receiver, update.site),
    )


def _is_guess(update: ApiCall) -> bool:
    """Return whether it is uncertain that this is called; of several optimizers each is bare."""
    found = [key for key, _ in update.context.conditions if key.kind in GUESSES]
    return any(key.identity != update.site for key in found)


def _may_be_summed(computation: Computation, update: ApiCall) -> bool:
    """Return whether the gradients went through something that is not seen."""
    computed = {call.site for call in computation.calls if call.last == "compute_gradients"}
    given = update.argument("grads_and_vars", 0)
    if given is None or isinstance(given.value, Choice):
        return True
    found = list(tensors(given.value))
    return not found or any(each.sort == "unseen" and each.site not in computed for each in found)
