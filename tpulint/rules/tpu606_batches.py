"""Batch sizes that the replicas cannot share."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.values import NONE, Const, Value
from tpulint.analysis.names.files_of_tests import is_test
from tpulint.finding import Certainty
from tpulint.knowledge.estimators import BATCH_SIZES
from tpulint.queries.estimators import broadcasts, on_tpu, setting
from tpulint.rules.base import Report

CORES = 8  # of the smallest TPU that Cloud offers


def check_batches(call: ApiCall, runs: set[str], report: Report) -> None:
    """A literal batch that the replicas cannot share; how many they are may be a guess.

    runs: what the estimator is seen to do, for TPUEstimator checks a size when it uses it. If
    nothing is seen, it may do all.
    """
    if not on_tpu(call) or broadcasts(call) is not False:
        return
    shards, cores = setting(call, "num_shards", 1), setting(call, "num_cores_per_replica", 2)
    count = _number(shards)
    # A test may run on a machine of its own, with fewer cores than Cloud offers.
    if count is None and (shards != NONE or cores != NONE or is_test(call.site.module.filename)):
        return
    replicas = count or CORES
    for run, (keyword, position) in BATCH_SIZES.items():
        if runs and run not in runs:
            continue
        given = call.argument(keyword, position)
        size = _number(given.value) if given is not None else None
        if given is None or size is None or size % replicas == 0:
            continue
        trained = run in runs and keyword == "train_batch_size"
        sure = trained and count is not None and not call.context.is_guess
        report(
            given.site.span,
            f"`{keyword}={size}` is not divisible by {replicas} replicas: TPUEstimator refuses it",
            certainty=Certainty.DEFINITE if sure else Certainty.POSSIBLE,
        )


def _number(value: Value) -> int | None:
    found = value.value if isinstance(value, Const) else None
    return found if type(found) is int else None
