"""TPU713: the loss of a replica is scaled as if there were one replica, or scaled twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Computation, Operation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.structures import all_tensors
from tpulint.absint.domain.values import Bound, Const, External, Scaled, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import device_path, device_step, path_to
from tpulint.frontends.tensorflow.keras_models import is_optimizer
from tpulint.frontends.tensorflow.knowledge import strategies, tf_names
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.ordering import AGREEMENT_CALLS
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.device_code import is_compiled
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.input_pipelines import data_of, last_batches
from tpulint.queries.strategies import UPDATES, is_for_many, reduced_by, strategy_of
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

MEAN = "reduce_mean"
OF_WEIGHTS = "l2_loss"
# tensorflow/python/ops/clip_ops.py; `getitem` takes one of the two that a clip by all norms gives.
HAND_ON_GRADIENTS = frozenset(["clip_by_global_norm", "clip_by_norm", "clip_by_value", "getitem"])
STEPS = 200  # operations between the loss and its parts
INSTEAD = "divide it by `strategy.num_replicas_in_sync`, or use `tf.nn.compute_average_loss`"

Calls = Mapping[int, ApiCall]


class Loss(NamedTuple):
    """A loss whose gradients an optimizer applies: the call of `gradient`, and of its parts.

    scaled: one of its parts is divided or multiplied by something; averages: those that divide by
    the global batch.
    """

    gradient: ApiCall
    optimizer: ExternalObject
    parts: tuple[ApiCall, ...]
    scaled: bool
    averages: tuple[ApiCall, ...]


@register
class LossNotScaled(Rule):
    code = "TPU713"
    name = "loss-not-scaled"
    severity = Severity.WARNING
    summary = "a loss that is not divided by the number of replicas, or is divided twice"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind in tf_names.STRATEGY_RUN and is_for_replicas(computation):
                for loss in losses(computation, calls_by_operation(computation)):
                    for part in loss.parts:
                        unscaled(program, computation, loss, part, report)
        for call, _, mean in reduced_by(program, "MEAN"):
            averaged_twice(program, call, mean.value, report)


def is_for_replicas(computation: Computation) -> bool:
    """Return whether the strategy is a TPU's, or one that is given, but not the current one.

    That may well be the default one, for one device.
    """
    strategy = strategy_of(computation.call.receiver)
    is_current = strategy is not None and strategy.path.endswith("get_strategy")
    return computation.certainty is Certainty.DEFINITE or (
        not is_current and may_be_tpus(computation)
    )


def unscaled(
    program: Program, computation: Computation, loss: Loss, part: ApiCall, report: Report
) -> None:
    if part.last == MEAN and not loss.scaled and loss.optimizer.last not in strategies.SCALE_FREE:
        what = "this mean is over one replica's rows"
        instead = INSTEAD
        is_certain = False  # the learning rate may make up for it
    elif loss.scaled and part.last != MEAN:
        whose = "weights'" if part.last == OF_WEIGHTS else "model's"
        what = f"the {whose} own losses are not scaled here, as the rest of the loss is"
        instead = "use `tf.nn.scale_regularization_loss`"
        is_certain = any(is_of_all_replicas(program, average) for average in loss.averages)
    else:
        return
    report(
        part.site.span,
        f"{what}, but the optimizer sums the gradients of all replicas, so the sum is as many"
        f" times too large as there are replicas: {instead}",
        certainty=on_tpu_if(
            computation, part.context, is_certain, is_of_many(program, computation)
        ),
        trace=device_path(
            computation,
            part.context,
            device_step(part.site, "computes this part of the loss"),
            device_step(loss.gradient.site, "differentiates it; the optimizer sums the gradients"),
        ),
    )


def losses(computation: Computation, calls: Calls) -> Iterator[Loss]:
    """Yield the losses whose gradients a Keras optimizer gets as they are, or clipped."""
    if any(call.last in AGREEMENT_CALLS for call in computation.calls):
        return  # the program combines something itself
    applied = {
        id(operation): call.receiver
        for call in computation.calls
        if call.last in UPDATES and is_optimizer(call.receiver) and len(call.arguments) == 1
        for tensor in all_tensors([call.arguments[0].value])
        for operation in before_clips(tensor.operation, calls)
    }
    for call in computation.calls:
        result, target = call.result, call.argument("target", 0)
        if call.last != "gradient" or not isinstance(result, Tensor) or target is None:
            continue
        optimizer = applied.get(id(result.operation)) if result.operation is not None else None
        if not isinstance(optimizer, ExternalObject) or not is_compiled(call.context):
            continue
        if isinstance(target.value, Tensor):
            yield loss_of(call, optimizer, target.value, calls)


def before_clips(operation: Operation | None, calls: Calls) -> Iterator[Operation]:
    """Yield an operation; where it clips gradients or takes one of them, those before it, too."""
    if operation is not None:
        yield operation
        if name_of(operation, calls)[0] in HAND_ON_GRADIENTS:
            for source in operation.sources:
                yield from before_clips(source, calls)


def loss_of(gradient: ApiCall, optimizer: ExternalObject, target: Tensor, calls: Calls) -> Loss:
    """Walk from a loss to what it is the sum of."""
    parts: list[ApiCall] = []
    averages: list[ApiCall] = []
    scaled = False
    waiting, seen = [target.operation], set[int]()
    while waiting and len(seen) < STEPS:
        operation = waiting.pop()
        if operation is None or id(operation) in seen:
            continue
        seen.add(id(operation))
        name, call = name_of(operation, calls)
        if name in strategies.SUMS_OF_LOSSES and not (call is not None and takes_losses(call)):
            waiting += operation.sources
        elif name in strategies.SCALES:
            scaled = True
            averages += [call] if call is not None and name == strategies.AVERAGE_LOSS else []
        elif call is not None and (
            is_mean_of_all(call) or takes_losses(call) or is_of_weights(call)
        ):
            parts.append(call)
    return Loss(gradient, optimizer, tuple(parts), scaled, tuple(averages))


def is_of_many(program: Program, computation: Computation) -> bool:
    """Return whether nothing says that the strategy has a single replica."""
    strategy = strategy_of(computation.call.receiver)
    return strategy is not None and is_for_many(program, strategy, computation.context)


def is_of_all_replicas(program: Program, average: ApiCall) -> bool:
    """Return whether a loss is divided by a batch that certainly is that of all replicas."""
    size = average.value("global_batch_size", 2)
    if size is None:
        return True
    if isinstance(size, Scaled):
        return size.power > 0
    # What a strategy divides among replicas: all batches of the program have this size.
    divided = [
        batch.argument("batch_size", 0) if batch and feed.function is None else None
        for feed in program.feeds
        if isinstance(feed.owner, Strategy)
        for batch in last_batches(data_of(program, feed)) or [None]
    ]
    return isinstance(size, Const) and bool(divided) and all(other == size for other in divided)


def name_of(operation: Operation, calls: Calls) -> tuple[str, ApiCall | None]:
    call = calls.get(id(operation))
    return (operation.operator, None) if call is None else (call.last, call)


def is_mean_of_all(call: ApiCall) -> bool:
    """Return whether this is TensorFlow's mean over all elements."""
    return call.last == MEAN and tf_names.is_tensorflow(call.path) and len(call.arguments) == 1


def is_of_weights(call: ApiCall) -> bool:
    """Return whether this is a loss of weights alone, which each replica has the whole of."""
    return call.last == OF_WEIGHTS and any(
        isinstance(option, Variable)
        for argument in call.arguments[:1]
        for option in argument.value.options
    )


def takes_losses(call: ApiCall) -> bool:
    """Return whether a call adds up a model's `losses`."""
    first = call.arguments[0].value if call.arguments else None
    if call.last not in strategies.ADDS_LOSSES or not isinstance(first, Bound):
        return False
    named = first.function
    return isinstance(named, External) and named.last == strategies.LOSSES_OF_MODEL


def averaged_twice(program: Program, call: ApiCall, loss: Value, report: Report) -> None:
    """Report the mean over replicas of what is divided by the global batch already."""
    if not isinstance(loss, Tensor) or loss.of_all is None:
        return
    for computation in program.computations:
        if computation.call is not loss.of_all or not is_for_replicas(computation):
            continue
        result = computation.result
        if not isinstance(result, Tensor) or result.operation is None:
            return
        average = calls_by_operation(computation).get(id(result.operation))
        if average is not None and average.last == strategies.AVERAGE_LOSS:
            report(
                call.site.span,
                f"`{strategies.AVERAGE_LOSS}` has divided by the global batch, and this mean"
                " divides by the number of replicas again, so the number is too small: reduce with"
                " `tf.distribute.ReduceOp.SUM`",
                certainty=on_tpu_if(
                    computation,
                    average.context,
                    is_of_all_replicas(program, average),
                    is_of_many(program, computation),
                ),
                trace=(
                    *path_to(computation, average, "divides by the global batch"),
                    traces.host_step(call.site, "takes the mean over the replicas"),
                ),
            )


def calls_by_operation(computation: Computation) -> Calls:
    """Return the call that built an operation, by the operation's identity."""
    return {
        id(call.result.operation): call
        for call in computation.calls
        if isinstance(call.result, Tensor)
        and call.result.operation is not None
        and not (call.last == "__call__" and isinstance(call.receiver, ExternalObject))
    }
