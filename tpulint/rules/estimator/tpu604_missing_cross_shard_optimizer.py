"""TPU604: an optimizer in a TPU model_fn that is not wrapped in CrossShardOptimizer."""

from __future__ import annotations

from tpulint.absint.domain.context import GUESSES
from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Choice, External, Value
from tpulint.diagnostics.fixes import in_cross_shard_optimizer
from tpulint.diagnostics.traces import device_path, device_step
from tpulint.finding import Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import naming, seam
from tpulint.frontends.tensorflow.knowledge.seam import is_tensorflow
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.estimators import may_have_one_replica
from tpulint.rules.base import Report, Rule, register

UPDATES = ("minimize", "apply_gradients")
WRAPPER = "CrossShardOptimizer"


@register
class MissingCrossShardOptimizer(Rule):
    code = "TPU604"
    name = "missing-cross-shard-optimizer"
    severity = Severity.ERROR
    summary = "an optimizer that is not wrapped in CrossShardOptimizer"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            # A step of a TPUStrategy sums gradients in `apply_gradients`.
            if computation.kind != "model_fn" or _has_collective(computation):
                continue
            # One replica has nobody to exchange gradients with.
            if may_have_one_replica(computation.call):
                continue
            for calls in _updates_by_site(computation).values():
                if all(is_bare(call.receiver) for call in calls) and _may_lead_to_tpu_spec(
                    computation, calls
                ):
                    _report_optimizer(computation, calls[0], report)


def _may_lead_to_tpu_spec(computation: Computation, updates: list[ApiCall]) -> bool:
    """Return whether a way to a TPUEstimatorSpec leads by an update.

    Only asked where nothing else shows that the model_fn is a TPU's.
    """
    if computation.certainty is Certainty.DEFINITE:
        return True
    specs = [call.context for call in computation.calls if call.last == "TPUEstimatorSpec"]
    return any(not update.context.excludes(spec) for update in updates for spec in specs)


def _has_collective(computation: Computation) -> bool:
    """Return whether the replicas meet: then gradients may be summed without a wrapper."""
    return any(call.last in seam.COLLECTIVES for call in computation.calls)


def _updates_by_site(computation: Computation) -> dict[Site, list[ApiCall]]:
    """Return the updates; one place has several where the optimizer is one of several."""
    updates: dict[Site, list[ApiCall]] = {}
    for call in [*computation.calls, *computation.updates]:
        if call.last in UPDATES:
            updates.setdefault(call.site, []).append(call)
    return updates


def _report_optimizer(computation: Computation, update: ApiCall, report: Report) -> None:
    receiver = update.receiver
    assert isinstance(receiver, (ExternalObject, Instance))
    name = receiver.last if isinstance(receiver, ExternalObject) else receiver.cls.code.name
    site = receiver.site or update.site
    unseen = update.last == "apply_gradients" and _may_be_summed(computation, update)
    seen = isinstance(receiver, Instance) or is_tensorflow(receiver.path)
    guess = unseen or not seen or _is_guessed_call(update)
    report(
        update.site.span,
        f"`{name}` is not wrapped in `{WRAPPER}`, so each replica applies only its own gradients:"
        " TPUEstimator raises an error, except under control flow v2",
        certainty=Certainty.POSSIBLE if guess else computation.certainty,
        trace=device_path(
            computation, update.context, device_step(site, "is made without a wrapper")
        ),
        fix=in_cross_shard_optimizer(receiver, update.site),
    )


def _is_guessed_call(update: ApiCall) -> bool:
    """Return whether it is uncertain that this is called; of several optimizers each is bare."""
    guesses = [key for key, _ in update.context.conditions if key.kind in GUESSES]
    return any(key.identity != update.site for key in guesses)


def _may_be_summed(computation: Computation, update: ApiCall) -> bool:
    """Return whether the gradients went through something that is not seen."""
    computed = {call.site for call in computation.calls if call.last == "compute_gradients"}
    pairs = update.argument("grads_and_vars", 0)
    # `apply_gradients` may be given what a helper has summed.
    if pairs is None or isinstance(pairs.value, Choice):
        return True
    gradients = list(tensors(pairs.value))
    return not gradients or any(
        gradient.sort == "unseen" and gradient.site not in computed for gradient in gradients
    )


def is_bare(receiver: Value | None) -> bool:
    """Return whether this certainly is a TensorFlow optimizer, or made after it, without a sum."""
    if isinstance(receiver, Instance):
        return _is_bare_class(receiver)
    if not isinstance(receiver, ExternalObject):
        return False
    if not is_tensorflow(receiver.path):
        return _is_bare_foreign(receiver)
    named = naming.OPTIMIZER.is_in(receiver.last) or ".optimizers." in receiver.path
    return named and not naming.SUMS_GRADIENTS.is_in(receiver.last) and not _wraps(receiver)


def _is_bare_foreign(optimizer: ExternalObject) -> bool:
    """Return whether another package's optimizer, or wrapper, shows no sum of gradients."""
    if naming.SUMS_GRADIENTS.is_in(optimizer.path):
        return False
    held = [v for _, v in optimizer.arguments if isinstance(v, (ExternalObject, Instance))]
    return naming.OPTIMIZER.is_in(optimizer.last) or (bool(held) and all(map(is_bare, held)))


def _is_bare_class(optimizer: Instance) -> bool:
    """Return whether a project's class is a TensorFlow optimizer that neither sums nor wraps."""
    bases = mro(optimizer.cls)
    outside = [base for base in bases if isinstance(base, External)]
    is_optimizer = any(naming.OPTIMIZER.is_in(base.last) for base in outside)
    unseen = any(not is_tensorflow(base.path) and base.last != "object" for base in outside)
    methods = [
        member for base in bases if isinstance(base, Class) for member in base.names.values()
    ]
    mentions = {
        word for method in methods if isinstance(method, Function) for word in method.code.mentions
    }
    mentions |= {base.last for base in outside}
    sums = not mentions.isdisjoint(seam.COLLECTIVES | {WRAPPER})
    kept = optimizer.attributes.values()
    return (
        is_optimizer
        and not unseen
        and not sums
        and not any(isinstance(attribute, (ExternalObject, Instance)) for attribute in kept)
    )


def _wraps(optimizer: ExternalObject) -> bool:
    """Return whether this is a CrossShardOptimizer, holds one, or may hold one."""
    if optimizer.last == WRAPPER:
        return True
    for keyword, value in optimizer.arguments:
        if isinstance(value, ExternalObject):
            if _wraps(value):
                return True
        elif keyword in ("opt", "optimizer"):
            return True
    return False
