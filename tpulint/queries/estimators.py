"""A `TPUEstimator`: its configuration, its number of replicas, its host functions.

The facts: tensorflow_estimator/python/estimator/tpu/tpu_estimator.py and tpu_config.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Cluster, Computation
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Value, options
from tpulint.frontends.tensorflow.program import Program

SPEC_FUNCTIONS = ("host_call", "eval_metrics")  # kinds of clusters that a TPUEstimatorSpec opens


def may_use_tpu(estimator: ApiCall) -> bool:
    """Return whether a TPU may be used: not where `use_tpu=False` is in so many words."""
    use_tpu = estimator.argument("use_tpu", 4)
    # tpu_estimator.py: `use_tpu` is True by default.
    return use_tpu is None or use_tpu.value != Const(False)


def surely_uses_tpu(estimator: ApiCall) -> bool:
    """Return whether a TPU is used on every run, whatever the flags are."""
    use_tpu = estimator.argument("use_tpu", 4)
    if use_tpu is None:
        return not any(argument.star for argument in estimator.arguments)
    return use_tpu.value == Const(True)


def estimator_of(program: Program, feed: Feed) -> ApiCall | None:
    """Return the call that made the TPUEstimator that `feed` feeds; None for a strategy."""
    makers: dict[int, ApiCall] | None = program.answers.get(estimator_of)
    if makers is None:
        makers = {id(call.result): call for call in program.named.get("TPUEstimator", ())}
        program.answers[estimator_of] = makers
    return makers.get(id(feed.owner))


def run_config(estimator: ApiCall) -> Value:
    """Return the RunConfig of a TPUEstimator; UNKNOWN where the estimator is not seen."""
    config = estimator.argument("config", 2)
    return UNKNOWN if config is None else config.value


def tpu_config_value(estimator: ApiCall, keyword: str, position: int) -> Value:
    """Return an argument of the TPUConfig; NONE if it keeps its default, UNKNOWN if unseen."""
    return _inside(_inside(run_config(estimator), "tpu_config", 0), keyword, position)


def _inside(value: Value, keyword: str, position: int) -> Value:
    # Without a TPUConfig all of its settings keep their defaults.
    if value == NONE:
        return NONE
    if not isinstance(value, ExternalObject):
        return UNKNOWN
    return value.argument(keyword, position) or NONE


def broadcasts_input(estimator: ApiCall) -> bool | None:
    """Return whether all cores get the same input and one core's output counts, None if unseen."""
    modes = options(tpu_config_value(estimator, "per_host_input_for_training", 3))
    if any(isinstance(mode, External) and mode.last == "BROADCAST" for mode in modes):
        return True
    return False if all(_feeds_each_core(mode) for mode in modes) else None


def _feeds_each_core(mode: Value) -> bool:
    """Return whether `per_host_input_for_training` is a bool, or PER_SHARD_V1 and the like."""
    return isinstance(mode, Const) or (isinstance(mode, External) and mode.last[:4] == "PER_")


def may_have_one_replica(estimator: ApiCall) -> bool:
    """Return whether `num_shards=1` or model parallelism is configured: one replica is enough."""
    shards = tpu_config_value(estimator, "num_shards", 1)
    cores = tpu_config_value(estimator, "num_cores_per_replica", 2)
    # Model parallelism spreads one replica over all cores of a small TPU.
    return Const(1) in options(shards) or cores not in (NONE, UNKNOWN)


def host_calls(program: Program) -> Iterator[tuple[Computation, Cluster]]:
    """Each `host_call` and `eval_metrics` with the model_fn that hands it over."""
    for computation in program.computations:
        for cluster in computation.clusters:
            if cluster.kind in SPEC_FUNCTIONS:
                yield computation, cluster
