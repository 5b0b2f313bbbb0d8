"""TPU606: params holds a key of TPUEstimator's own, or the replicas cannot share a batch."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.objects import ExternalObject, Mapping
from tpulint.analysis.domain.values import NONE, Const, Value, options
from tpulint.analysis.names.files_of_tests import is_test
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.knowledge.estimators import BATCH_SIZES
from tpulint.queries.estimators import broadcasts_input, may_use_tpu, tpu_config_value
from tpulint.rules.base import Report, Rule, register

RESERVED = ("batch_size", "context")
CORES = 8  # of the smallest TPU that Cloud offers


@register
class ReservedParams(Rule):
    code = "TPU606"
    name = "reserved-params"
    severity = Severity.ERROR
    summary = "params holds a reserved key or an indivisible batch size"

    def check(self, program: Program, report: Report) -> None:
        for call in program.all_calls():
            if call.last == "TPUEstimator":
                _check_params(call, report)
                runs = {each.kind for each in program.feeds if each.owner is call.result}
                check_batches(call, runs, report)


def _check_params(call: ApiCall, report: Report) -> None:
    given, made = call.argument("params", 3), call.result
    if given is None or not isinstance(made, ExternalObject):
        return
    kept = options(made.attributes.get("params", NONE))
    for key in RESERVED:
        held = [_holds(each, key, call) for each in kept]
        maybe = any(isinstance(each, Mapping) and key in each.perhaps for each in kept)
        sure = all(held) and not maybe and not call.context.is_guess
        if any(held):
            report(
                given.site.span,
                f"`params` holds `{key}`, which TPUEstimator sets itself: its constructor raises a"
                " ValueError",
                certainty=Certainty.DEFINITE if sure else Certainty.POSSIBLE,
            )


def _holds(params: Value, key: str, call: ApiCall) -> bool:
    """Return whether the key is there on every run that gets to the call."""
    if isinstance(params, ExternalObject):
        return params.last == "HParams" and params.argument(key) is not None
    if not isinstance(params, Mapping) or key not in params.items:
        return False
    set_at = params.set_at.get(key)
    return set_at is None or set_at.reached_whenever(call.context)


def check_batches(call: ApiCall, runs: set[str], report: Report) -> None:
    """Check a literal batch that the replicas cannot share; how many they are may be a guess.

    runs: what the estimator is seen to do, for TPUEstimator checks a size when it uses it. If
    nothing is seen, it may do all.
    """
    if not may_use_tpu(call) or broadcasts_input(call) is not False:
        return
    shards, cores = (
        tpu_config_value(call, "num_shards", 1),
        tpu_config_value(call, "num_cores_per_replica", 2),
    )
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
