"""TPU716: a stateless draw gets the same seed on all replicas, which draw the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject, Sequence
from tpulint.absint.domain.structures import all_tensors
from tpulint.absint.domain.values import Const, Value
from tpulint.diagnostics.traces import path_to_site
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import STATELESS_DRAWS
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.shapes import gives_one_tensor
from tpulint.queries.device_code import is_compiled
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.rules.base import Report, Rule, register


@register
class SameRandomNumbers(Rule):
    code = "TPU716"
    name = "same-random-numbers"
    severity = Severity.WARNING
    summary = "one stateless seed for all replicas, which then draw the same numbers"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for call in draws(program, computation):
                report(
                    call.site.span,
                    f"`{call.last}` gets the same seed on every replica, so all replicas draw the"
                    " same numbers: add the replica's id to the seed"
                    " (`replica_id_in_sync_group`), or use a `tf.random.Generator`",
                    certainty=Certainty.POSSIBLE,  # they may be meant to be the same
                    trace=path_to_site(
                        computation, call.context, call.site, "draws the same on every replica"
                    ),
                )


def draws(program: Program, computation: Computation) -> Iterator[ApiCall]:
    """Yield the stateless draws of a step whose seed is the same on all replicas."""
    if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
        return
    whole = given_whole(program, computation)
    for call in computation.calls:
        if call.last not in STATELESS_DRAWS or not is_compiled(call.context):
            continue
        if isinstance(call.receiver, ExternalObject) or not tf_names.is_tensorflow(call.path):
            continue
        seed = call.argument("seed", 1)
        if seed is not None and is_same_everywhere(seed.value, whole):
            yield call


def is_same_everywhere(seed: Value, whole: list[Value]) -> bool:
    """Return whether the seed is known, and comes from nothing of this replica's."""
    if isinstance(seed, Sequence):
        items = seed.items
        return (
            not seed.open and bool(items) and all(is_same_everywhere(item, whole) for item in items)
        )
    if isinstance(seed, Const):
        return True
    tensors = all_tensors([seed])
    return bool(tensors) and all(
        tensor.uniform or any(tensor is value for value in whole) for tensor in tensors
    )


# tensorflow/python/distribute/distribute_utils.py, `select_replica`
def given_whole(program: Program, computation: Computation) -> list[Value]:
    """Return the parameters of a step for which `run` is given one tensor of an operation."""
    arguments = computation.call.argument("args", 1)
    given = arguments.value.items if arguments and isinstance(arguments.value, Sequence) else []
    if len(given) != len(computation.parameters):
        return []
    return [
        parameter
        for parameter, value in zip(computation.parameters, given, strict=True)
        if isinstance(value, Tensor) and value.of_all is None
        if any(gives_one_tensor(call.path) for call in program.by_result.get(id(value), ()))
    ]
