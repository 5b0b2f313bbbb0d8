"""TPU716: a stateless draw gets the same seed on all replicas, which draw the same numbers."""

from __future__ import annotations

from tpulint.absint.domain.objects import ExternalObject, Sequence
from tpulint.absint.domain.structures import all_tensors, uniform
from tpulint.absint.domain.values import Opaque, Value
from tpulint.diagnostics.traces import path_to
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import STATELESS_DRAWS
from tpulint.queries.device_code import is_compiled
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


@register
class SameRandomNumbers(Rule):
    code = "TPU716"
    name = "same-random-numbers"
    severity = Severity.WARNING
    summary = "one stateless seed for all replicas, which then draw the same numbers"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
                continue
            for call in computation.calls:
                if call.last not in STATELESS_DRAWS or not is_compiled(call.context):
                    continue
                is_method = isinstance(call.receiver, ExternalObject)
                if is_method or not tf_names.is_tensorflow(call.path):
                    continue
                seed = call.value("seed", 1)
                if seed is not None and is_same_everywhere(seed):
                    report(
                        call.site.span,
                        f"`{call.last}` gets the same seed on every replica, so all replicas draw"
                        " the same numbers: add the replica's id to the seed"
                        " (`replica_id_in_sync_group`), or use a `tf.random.Generator`",
                        certainty=Certainty.POSSIBLE,  # they may be meant to be the same
                        trace=path_to(computation, call, "draws the same on every replica"),
                    )


def is_same_everywhere(seed: Value) -> bool:
    """Return whether the seed comes from nothing of this replica's, as far as it is seen."""
    if isinstance(seed, Sequence):
        return not seed.open and bool(seed.items) and all(map(is_same_everywhere, seed.items))
    tensors = all_tensors([seed])
    if tensors:
        return all(tensor.uniform for tensor in tensors)
    # One trace is for all replicas: a value of the host, as `config.seed`, is in it once. A
    # parameter that is not seen may be a tensor of each replica.
    parameters = (it for it in seed.options if isinstance(it, Opaque) and it.parent is None)
    return uniform([seed]) and all(parameter.is_setting for parameter in parameters)
