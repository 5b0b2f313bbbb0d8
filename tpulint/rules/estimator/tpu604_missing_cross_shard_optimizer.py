"""TPU604: an optimizer in a TPU model_fn that is not wrapped in CrossShardOptimizer."""

from __future__ import annotations

from tpulint.absint.domain.context import GUESSES
from tpulint.absint.domain.events import ApiCall, Computation, Tensor
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import NONE, UNKNOWN, Opaque, Value
from tpulint.diagnostics.fixes import in_cross_shard_optimizer
from tpulint.diagnostics.traces import path_to, path_to_site
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.ordering import Truth, reachable
from tpulint.queries.certainty import definite_if
from tpulint.queries.collectives import collectives_with, may_sum_gradients
from tpulint.queries.entry_calls import has_one_replica, replicas
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

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
            wrapped = [wrapper for wrapper in computation.calls if _wraps_operation(wrapper)]
            for wrapper in wrapped:
                is_definite = computation.certainty is Certainty.DEFINITE
                report(
                    wrapper.site.span,
                    f"`{WRAPPER}` wraps an operation here, where TensorFlow raises a TypeError:"
                    " wrap the optimizer, before it makes the operation",
                    certainty=definite_if(not wrapper.context.is_guess, is_definite),
                    trace=path_to(computation, wrapper, "wraps no optimizer"),
                )
            certainty = _certainty_of_replicas(computation)
            if certainty is None:
                continue
            values = [argument.value for wrapper in wrapped for argument in wrapper.arguments[:1]]
            # The updates by place, which has several where the optimizer is one of several.
            places: dict[Site, list[ApiCall]] = {}
            for call in [*computation.calls, *computation.updates]:
                if call.last in UPDATES:
                    places.setdefault(call.site, []).append(call)
            for calls in places.values():
                if not any(call.result in values for call in calls):
                    _check_updates(computation, calls, certainty, report)


def _certainty_of_replicas(computation: Computation) -> Certainty | None:
    """Return how sure it is that replicas have gradients to sum; None where they have none.

    A step of a TPUStrategy sums gradients in `apply_gradients`. One replica has nobody to
    exchange gradients with.
    """
    if computation.kind == tf_names.MODEL_FN:
        is_alone = has_one_replica(computation.call)
        if is_alone is Truth.NO:
            return computation.certainty
        return None if is_alone is Truth.YES else Certainty.POSSIBLE
    if computation.kind not in tf_names.REPLICATE_FAMILY:
        return None
    count = replicas(computation)
    if count is None:
        return Certainty.POSSIBLE
    return computation.certainty if count > 1 else None


def _check_updates(
    computation: Computation, calls: list[ApiCall], certainty: Certainty, report: Report
) -> None:
    """Check the updates at one place: several, where the optimizer is one of several."""
    bare = sorted(
        (call for call in calls if is_bare(call.receiver)), key=lambda call: not _is_seen(call)
    )
    others = [call for call in calls if call not in bare]
    if not bare or not all(_is_unseen(call.receiver) for call in others):
        return
    # An optimizer of the project that hands on gradients may itself be wrapped.
    name = "apply_gradients"
    is_handed = any(step.name == name for step in bare[0].context.call_chain)
    if (bare[0].last == name and is_handed) or _is_computed_elsewhere(computation, bare):
        return
    if not _may_lead_to_tpu_spec(computation, bare):
        return
    sums = collectives_with(computation, bare)
    if sums and may_sum_gradients(computation, bare[0], sums):
        return
    is_sure = certainty is Certainty.DEFINITE and not others
    is_sure = is_sure and not any(_is_horovod(call.receiver) for call in bare)
    _report_optimizer(computation, bare[0], sums, report, is_sure=is_sure)


def _is_computed_elsewhere(computation: Computation, updates: list[ApiCall]) -> bool:
    """Return whether another optimizer computes the gradients that may sum them where it does."""
    update, optimizers = updates[0], [call.receiver for call in updates]
    pairs = update.value("grads_and_vars", 0) if update.last == "apply_gradients" else None
    sites = {gradient.site for gradient in tensors(pairs or NONE)}
    return any(
        call.last == "compute_gradients"
        and call.site in sites
        and call.receiver not in optimizers
        and not _only_computes(call.receiver)
        for call in computation.calls
    )


def _only_computes(optimizer: Value | None) -> bool:
    """Return whether `compute_gradients` sums nothing: a CrossShardOptimizer sums later."""
    if not isinstance(optimizer, ExternalObject):
        return is_bare(optimizer)
    return _is_known(optimizer) and (optimizer.last == WRAPPER or is_bare(optimizer))


def _is_known(optimizer: ExternalObject) -> bool:
    return tf_names.is_tensorflow(optimizer.path) or optimizer.path in tf_names.BARE_OPTIMIZERS


def _is_seen(update: ApiCall) -> bool:
    """Return whether the class of the optimizer is read, or TensorFlow's."""
    optimizer = update.receiver
    return isinstance(optimizer, Instance) or (
        isinstance(optimizer, ExternalObject) and _is_known(optimizer)
    )


def _is_unseen(receiver: Value | None) -> bool:
    """Return whether nothing is seen of an optimizer: neither how it is made nor what it holds."""
    return receiver is None or receiver is UNKNOWN or isinstance(receiver, (Opaque, Tensor))


def _wraps_operation(call: ApiCall) -> bool:
    """Return whether a CrossShardOptimizer gets what an update gives, an operation."""
    optimizer = call.value("opt", 0) if call.last == WRAPPER else None
    return optimizer is not None and all(
        isinstance(option, Tensor) and option.sort == "operation" for option in optimizer.options
    )


def _may_lead_to_tpu_spec(computation: Computation, updates: list[ApiCall]) -> bool:
    """Return whether a TPU may run an update, by the specs of the model_fn that it leads to.

    It has to lead to a TPUEstimatorSpec where nothing else shows that the model_fn is a TPU's.
    Elsewhere, it may lead to an EstimatorSpec, unless a TPUEstimatorSpec gets another update.
    """
    if computation.kind != tf_names.MODEL_FN:
        return True
    specs = [call for call in computation.calls if call.last == "TPUEstimatorSpec"]
    if computation.certainty is not Certainty.DEFINITE:
        return _leads_to(updates, specs)
    trained = [spec for spec in specs if spec.value("train_op", 3) not in (None, NONE)]
    others = [call for call in computation.calls if call.last == "EstimatorSpec"]
    is_for_others = trained and _leads_to(updates, others)
    return not is_for_others or _leads_to(updates, trained)


def _leads_to(updates: list[ApiCall], specs: list[ApiCall]) -> bool:
    """Return whether a run of the model_fn may make both an update and a spec."""
    return any(
        not update.context.excludes(spec.context)
        and not update.context.is_other_branch(spec.context)
        for update in updates
        for spec in specs
    )


def _report_optimizer(
    computation: Computation, update: ApiCall, met: list[ApiCall], report: Report, *, is_sure: bool
) -> None:
    """Report an update; `met` are the collectives of its graph, which sum something else."""
    receiver = update.receiver
    assert isinstance(receiver, (ExternalObject, Instance))
    name = receiver.last if isinstance(receiver, ExternalObject) else receiver.cls.code.name
    is_unseen = update.last == "apply_gradients" and _may_be_summed(computation, update)
    is_seen = _is_seen(update)
    if computation.kind != tf_names.MODEL_FN:
        then = "those of the others are lost"
    elif met:
        then = f"TPUEstimator does not notice, for `{met[0].last}` sums something else"
    else:
        then = "TPUEstimator raises an error, except under control flow v2"
    report(
        update.site.span,
        f"`{name}` is not wrapped in `{WRAPPER}`, so each replica applies only its own gradients:"
        f" {then}; wrap it",
        certainty=definite_if(is_sure, not is_unseen, is_seen, not _is_guessed_call(update)),
        trace=path_to_site(
            computation, update.context, receiver.site or update.site, "is made without a wrapper"
        ),
        fix=in_cross_shard_optimizer(receiver, update.site),
        doubt=_doubt(computation, update, name, is_own=is_seen, is_unseen=is_unseen),
    )


def _doubt(
    computation: Computation, update: ApiCall, name: str, *, is_own: bool, is_unseen: bool
) -> str:
    """Return what settles whether an update by the optimizer `name` is a fault."""
    if is_unseen:
        return "unless the gradients are summed before"
    if not is_own:
        is_horovod = _is_horovod(update.receiver)
        runs = f"if a TPU runs the code that uses `{name}`"
        return runs if is_horovod else f"unless `{name}` sums gradients itself"
    if computation.kind != tf_names.MODEL_FN or has_one_replica(computation.call) is Truth.MAYBE:
        return "if there are several replicas"
    if computation.certainty is Certainty.DEFINITE or _is_guessed_call(update):
        return f"if `{name}` is the one of several that is used"
    return "if a TPUEstimator runs this `model_fn` on a TPU"


def _is_guessed_call(update: ApiCall) -> bool:
    """Return whether it is uncertain that this is called; of several optimizers each is bare."""
    guesses = [key for key, _ in update.context.conditions if key.kind in GUESSES]
    return any(key.identity != update.site for key in guesses)


def _may_be_summed(computation: Computation, update: ApiCall) -> bool:
    """Return whether the gradients went through something that is not seen."""
    computed = {call.site for call in computation.calls if call.last == "compute_gradients"}
    pairs = update.argument("grads_and_vars", 0)
    if pairs is None:
        return True
    for option in pairs.value.options:
        gradients = tensors(option)
        if not gradients or any(
            gradient.sort == "unseen" and gradient.site not in computed for gradient in gradients
        ):
            return True
    return False


def is_bare(receiver: Value | None) -> bool:
    """Return whether this certainly is a TensorFlow optimizer, or made after it, without a sum."""
    if isinstance(receiver, Instance):
        return _is_bare_class(receiver)
    if not isinstance(receiver, ExternalObject):
        return False
    if not tf_names.is_tensorflow(receiver.path):
        return _is_bare_foreign(receiver)
    named = naming.OPTIMIZER.is_in(receiver.last) or ".optimizers." in receiver.path
    is_one = named or _holds_bare(receiver)
    return is_one and not naming.SUMS_GRADIENTS.is_in(receiver.last) and not _wraps(receiver)


def _is_bare_foreign(optimizer: ExternalObject) -> bool:
    """Return whether another package's optimizer, or wrapper, shows no sum of gradients."""
    if _is_horovod(optimizer):  # it sums over processes, by operations that no TPU has
        return _holds_bare(optimizer)
    if naming.SUMS_GRADIENTS.is_in(optimizer.path):
        return False
    return naming.OPTIMIZER.is_in(optimizer.last) or _holds_bare(optimizer)


def _is_horovod(optimizer: Value | None) -> bool:
    return isinstance(optimizer, ExternalObject) and optimizer.path.startswith("horovod.")


def _holds_bare(wrapper: ExternalObject) -> bool:
    """Return whether this is made of optimizers that sum nothing, and of no other objects."""
    held = [v for _, v in wrapper.arguments if isinstance(v, (ExternalObject, Instance))]
    return bool(held) and all(map(is_bare, held))


def _is_optimizer(instance: Instance) -> bool:
    return any(naming.OPTIMIZER.is_in(base.last) for base in instance.cls.outer_bases)


def _is_bare_class(optimizer: Instance) -> bool:
    """Return whether a project's optimizer sums nothing, nor does any object that it holds."""
    parts: list[ExternalObject | Instance] = [optimizer]
    for part in reachable(parts, _held, id):
        if isinstance(part, Instance):
            if not _sums_nothing(part):
                return False
        # What is made of a project's object may hold its holder.
        elif any(isinstance(value, Instance) for _, value in part.arguments) or not is_bare(part):
            return False
    return True


def _held(holder: ExternalObject | Instance) -> list[ExternalObject | Instance]:
    """Return the objects in the attributes of a project's object."""
    if isinstance(holder, ExternalObject):
        return []
    values = [option for value in holder.attributes.values() for option in value.options]
    return [value for value in values if isinstance(value, (ExternalObject, Instance))]


def _sums_nothing(optimizer: Instance) -> bool:
    """Return whether the class is a TensorFlow optimizer that names no sum."""
    outside = optimizer.cls.outer_bases
    if any(not tf_names.is_tensorflow(base.path) and base.last != "object" for base in outside):
        return False
    classes = [base for base in mro(optimizer.cls) if isinstance(base, Class)]
    members = [item for cls in classes for item in cls.names.values()]
    mentions = {base.last for base in outside}
    mentions.update(*(item.code.mentions for item in members if isinstance(item, Function)))
    # The optimizer in a wrapper may be one that sums, if it is not seen.
    may_sum = any(
        name.strip("_").endswith(("opt", "optimizer")) and any(map(_is_unseen, value.options))
        for name, value in optimizer.attributes.items()
    )
    names_sum = not mentions.isdisjoint(tf_names.COLLECTIVES | {WRAPPER})
    return _is_optimizer(optimizer) and not names_sum and not may_sum


def _wraps(optimizer: ExternalObject) -> bool:
    """Return whether this is a CrossShardOptimizer, holds one, or may hold one."""
    if optimizer.last == WRAPPER:
        return True
    for keyword, value in optimizer.arguments:
        if isinstance(value, ExternalObject):
            if _wraps(value):
                return True
        elif isinstance(value, Instance) and _is_optimizer(value):
            if not _is_bare_class(value):
                return True
        elif keyword in ("opt", "optimizer"):
            return True
    return False
