"""TPU603: a scalar is sent to host_call or eval_metrics, where a batch dimension must be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.absint.domain.context import LOOP
from tpulint.absint.domain.events import Argument, Cluster, Computation, Tensor
from tpulint.absint.domain.structures import is_scalar, tensors
from tpulint.absint.domain.values import MAX_ALTERNATIVES, NONE, UNKNOWN, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import with_batch_dimension
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.entry_calls import broadcasts_input, host_calls, is_number
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register


@register
class ScalarOutfeed(Rule):
    code = "TPU603"
    name = "scalar-outfeed"
    severity = Severity.ERROR
    summary = "a scalar with no batch dimension is sent to the host"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation, cluster in host_calls(program):
            # With BROADCAST only one core's output is taken, so nothing is concatenated.
            is_broadcast = broadcasts_input(program, computation.call)
            if is_broadcast:
                continue
            for sent, is_always, is_sure in scalars_sent(program, computation, cluster):
                tensor = tensors(sent.value)[0]
                assert tensor.site is not None
                culprit, module = traces.in_argument(sent, tensor), sent.site.module
                name = (not culprit.is_holder and culprit.name) or sent.keyword or ""
                report(
                    culprit.span,
                    f"{f'`{name}`' if name else 'this value'} {'is' if is_always else 'may be'} a"
                    f" scalar, but tensors of `{cluster.kind}` are concatenated over the replicas"
                    f" along their first dimension: pass `tf.reshape({name or 'x'}, [1])`",
                    certainty=on_tpu_if(
                        computation,
                        cluster.context,
                        is_always,
                        is_sure,
                        is_broadcast is False,
                        _is_sent(sent, cluster),
                    ),
                    trace=(
                        traces.entry(computation),
                        traces.device_step(tensor.site, "has no batch dimension"),
                    ),
                    doubt="" if is_sure else "unless its shape is `[1]`",
                    fix=None if culprit.is_holder else with_batch_dimension(module, culprit.span),
                )


def scalars_sent(
    program: Program, computation: Computation, cluster: Cluster
) -> Iterator[tuple[Argument, bool, bool]]:
    """Yield the arguments that are scalars, each with whether it always is one, and surely.

    A loss may have the shape [1].
    """
    calls = computation.calls
    # tensorflow_estimator/python/estimator/model_fn.py, `_validate_estimator_spec_loss`:
    # the loss has one element, and its shape may be [1].
    losses = _of_unknown_shape(
        call.value("loss", 2) for call in calls if call.last == "TPUEstimatorSpec"
    )
    # tensorflow/core/ops/training_ops.cc: the rank of a learning rate is 0.
    rates = _of_unknown_shape(
        call.value("learning_rate", 0)
        for call in calls
        if call.last.endswith("Optimizer") and is_tensorflow(call.path)
    )
    for argument in cluster.arguments:
        # tpu_estimator.py, `create_tpu_hostcall`, concatenates along axis 0. It refuses None, which
        # is for other modes.
        sent = [option for option in argument.value.options if option != NONE]
        scalars = [it for it in sent if id(it) in losses | rates or _is_scalar_tensor(it)]
        others = [option for option in sent if option not in scalars]
        # Of too many items to keep, one may be what a loop made of these.
        is_part = UNKNOWN in sent and len(sent) >= MAX_ALTERNATIVES
        # A loop that reshapes scalars knows which values are some.
        is_reshaped = any(_is_made_of(program, other, scalars) for other in others)
        if scalars and not is_reshaped and not is_part:
            is_sure = all(id(option) in rates or _is_scalar_tensor(option) for option in scalars)
            # A number fails, too: it has no dtype.
            yield argument, all(map(is_number, others)), is_sure


def _is_sent(argument: Argument, cluster: Cluster) -> bool:
    """Return whether a tensor is in the list that is sent, wherever it is there.

    One that is made under a condition may be put into a list under it, too.
    """
    return argument.star != "*" or all(
        tensor.made is not None and not tensor.made.choices_beyond(cluster.context)
        for tensor in tensors(argument.value)
    )


def _of_unknown_shape(values: Iterable[Value | None]) -> set[int]:
    """Return the ids of the tensors among the values whose shape is not seen."""
    return {
        id(option)
        for value in values
        if value is not None
        for option in value.options
        if isinstance(option, Tensor) and option.sort == "tensor" and option.shape is None
    }


def _is_made_of(program: Program, value: Value, scalars: list[Value]) -> bool:
    """Return whether `value` is what a call in a loop makes of one of these scalars."""
    made_of = {
        id(option)
        for call in program.by_result.get(id(value), ())
        if any(scope.kind == LOOP for scope in call.context.scopes)
        for argument in call.arguments
        for option in argument.value.options
    }
    return any(id(scalar) in made_of for scalar in scalars)


def _is_scalar_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and is_scalar(value)
