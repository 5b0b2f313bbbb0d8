"""TPU603: a scalar is sent to host_call or eval_metrics, where a batch dimension must be."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.absint.domain.context import LOOP
from tpulint.absint.domain.events import Argument, Cluster, Computation, Tensor
from tpulint.absint.domain.structures import is_scalar as is_scalar_value
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import MAX_ALTERNATIVES, NONE, UNKNOWN, Const, Value, options
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import with_batch_dimension
from tpulint.diagnostics.traces import in_argument
from tpulint.finding import DEVICE_LANE, Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.entry_calls import broadcasts_input, host_calls
from tpulint.rules.base import Report, Rule, register


@register
class ScalarOutfeed(Rule):
    code = "TPU603"
    name = "scalar-outfeed"
    severity = Severity.ERROR
    summary = "a scalar with no batch dimension is sent to the host"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation, cluster in host_calls(program):
            broadcast = broadcasts_input(program, computation.call)
            # With BROADCAST only one core's output is taken, so nothing is concatenated.
            if broadcast:
                continue
            losses, rates = _losses(computation), _learning_rates(computation)
            for argument in cluster.arguments:
                # tpu_estimator.py, `create_tpu_hostcall`, concatenates along axis 0. It refuses
                # None, which is for other modes.
                sent = [option for option in options(argument.value) if option != NONE]
                scalars = [
                    option
                    for option in sent
                    if id(option) in losses | rates or _is_scalar_tensor(option)
                ]
                is_reshaped = any(
                    _is_made_of(program, other, scalars) for other in sent if other not in scalars
                )
                # Of too many items to keep, one may be what a loop made of these.
                is_part = UNKNOWN in sent and len(sent) >= MAX_ALTERNATIVES
                # A loop that reshapes scalars knows which values are some.
                if scalars and not (is_reshaped or is_part):
                    # A number fails, too: it has no dtype.
                    numbers = [option for option in sent if is_number(option)]
                    is_scalar = len(scalars) + len(numbers) == len(sent)
                    are_scalars = all(
                        id(option) in rates or _is_scalar_tensor(option) for option in scalars
                    )
                    certainty = on_tpu_if(
                        computation,
                        cluster.context,
                        is_scalar,
                        are_scalars,
                        broadcast is False,
                        is_sent(argument, cluster),
                    )
                    verb = "is" if is_scalar else "may be"
                    report_scalar(
                        computation,
                        cluster,
                        argument,
                        verb,
                        certainty,
                        report,
                        must_be=not are_scalars,
                    )


def is_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) in (int, float)


def is_sent(argument: Argument, cluster: Cluster) -> bool:
    """Return whether a tensor is in the list that is sent, wherever it is there.

    One that is made under a condition may be put into a list under it, too.
    """
    return argument.star != "*" or all(
        tensor.made is not None and not tensor.made.choices_beyond(cluster.context)
        for tensor in tensors(argument.value)
    )


# tensorflow_estimator/python/estimator/model_fn.py, `_validate_estimator_spec_loss`.
def _losses(computation: Computation) -> set[int]:
    """Return the ids of tensors that are the loss, which has one element: its shape may be [1]."""
    specs = [call for call in computation.calls if call.last == "TPUEstimatorSpec"]
    return _of_unknown_shape(call.argument("loss", 2) for call in specs)


# tensorflow/core/ops/training_ops.cc: the rank of a learning rate is 0.
def _learning_rates(computation: Computation) -> set[int]:
    """Return the ids of tensors that are the learning rate of TensorFlow's optimizers."""
    makers = [
        call
        for call in computation.calls
        if call.last.endswith("Optimizer") and is_tensorflow(call.path)
    ]
    return _of_unknown_shape(call.argument("learning_rate", 0) for call in makers)


def _of_unknown_shape(arguments: Iterable[Argument | None]) -> set[int]:
    return {
        id(option)
        for argument in arguments
        if argument is not None
        for option in options(argument.value)
        if isinstance(option, Tensor) and option.sort == "tensor" and option.shape is None
    }


def _is_made_of(program: Program, value: Value, scalars: list[Value]) -> bool:
    """Return whether `value` is what a call in a loop makes of one of these scalars."""
    made_of = {
        id(option)
        for call in program.by_result.get(id(value), ())
        if any(scope.kind == LOOP for scope in call.context.scopes)
        for argument in call.arguments
        for option in options(argument.value)
    }
    return any(id(scalar) in made_of for scalar in scalars)


def _is_scalar_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and is_scalar_value(value)


def report_scalar(
    computation: Computation,
    cluster: Cluster,
    sent: Argument,
    verb: str,
    certainty: Certainty,
    report: Report,
    *,
    must_be: bool,
) -> None:
    site = next(tensors(sent.value)).site
    assert site is not None
    culprit = in_argument(sent, next(tensors(sent.value)))
    name = (not culprit.is_holder and culprit.name) or sent.keyword or ""
    report(
        culprit.span,
        f"{f'`{name}`' if name else 'this value'} {verb} a scalar, but tensors of"
        f" `{cluster.kind}` are concatenated over the replicas along their first dimension: pass"
        f" `tf.reshape({name or 'x'}, [1])`",
        certainty=certainty,
        trace=(traces.entry(computation), traces.step(DEVICE_LANE, site, "has no batch dimension")),
        doubt="unless its shape is `[1]`" if must_be else "",
        fix=None if culprit.is_holder else with_batch_dimension(sent.site.module, culprit.span),
    )
