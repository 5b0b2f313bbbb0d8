"""TPU606: params holds a key of TPUEstimator's own, or the replicas cannot share a batch."""

from __future__ import annotations

from collections import defaultdict

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.objects import ExternalObject, Mapping
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, Const, External, Opaque, Value
from tpulint.file_facts import is_test
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, RESERVED
from tpulint.queries import entry_calls
from tpulint.queries.certainty import definite_if
from tpulint.rules.base import Program, Report, Rule, Severity, register

TAKES_OUT = ("pop", "popitem", "clear")
CORES = 8  # of the smallest TPU that Cloud offers


@register
class ReservedParams(Rule):
    code = "TPU606"
    name = "reserved-params"
    severity = Severity.ERROR
    summary = "params holds a reserved key or an indivisible batch size"

    def check(self, program: Program, report: Report) -> None:
        runs_at: defaultdict[Site, set[str]] = defaultdict(set)
        for feed in program.feeds:
            if isinstance(feed.owner, ExternalObject):
                runs_at[feed.owner.site].add(feed.kind)
        for call in program.all_named(["TPUEstimator"]):
            _check_params(program, call, report)
            check_batches(program, call, runs_at[call.site], report)


def _check_params(program: Program, call: ApiCall, report: Report) -> None:
    argument, estimator = call.argument("params", 3), call.result
    if argument is None or not isinstance(estimator, ExternalObject):
        return
    # What is taken out of a container that is not seen is not followed.
    taken = {id(other.receiver) for other in program.named_any(TAKES_OUT)}
    if any(isinstance(it, Opaque) and id(it) in taken for it in argument.value.options):
        return
    alternatives = estimator.attributes.get("params", NONE).options
    for key in RESERVED:
        held = [_holds(option, key, call) for option in alternatives]
        maybe = any(isinstance(it, Mapping) and key in it.maybe_absent for it in alternatives)
        if any(held):
            report(
                argument.site.span,
                f"`params` holds `{key}`, which TPUEstimator sets itself: its constructor raises a"
                " ValueError; remove it",
                certainty=definite_if(all(held), not maybe, not call.context.is_guess),
            )


def _holds(params: Value, key: str, call: ApiCall) -> bool:
    """Return whether the key is there on every run that gets to the call."""
    if isinstance(params, ExternalObject):
        return params.last == "HParams" and params.argument(key) is not None
    if not isinstance(params, Mapping) or key not in params.items:
        return False
    dropped_at = params.dropped_at.get(key)
    if dropped_at is not None and dropped_at.reached_whenever(call.context):
        return False
    set_at = params.set_at.get(key)
    return set_at is None or set_at.reached_whenever(call.context)


def check_batches(program: Program, call: ApiCall, runs: set[str], report: Report) -> None:
    """Check a literal batch that the replicas cannot share; how many they are may be a guess.

    runs: what the estimator is seen to do, for TPUEstimator checks a size when it uses it. If
    nothing is seen, it may do all.
    """
    # On a CPU, and with BROADCAST, the batch is not divided.
    is_broadcast = entry_calls.broadcasts_input(program, call)
    if is_broadcast is not False or not entry_calls.may_use_tpu(call):
        return
    shards = entry_calls.tpu_config_value(call, "num_shards", 1)
    cores = entry_calls.tpu_config_value(call, "num_cores_per_replica", 2)
    count = entry_calls.constant_int(shards)
    are_flags = count is None
    if count is None and cores == NONE:
        count = next(entry_calls.flag_defaults(program, shards, call.site), None)
    # A test may run on a machine of its own, with fewer cores than Cloud offers.
    if count is None and (shards != NONE or cores != NONE or is_test(call.site.module.filename)):
        return
    replicas = count or CORES
    for run, (keyword, position) in BATCH_SIZES.items():
        argument = call.argument(keyword, position)
        if argument is None or (runs and run not in runs):
            continue
        size = entry_calls.constant_int(argument.value)
        is_flag = size is None
        # The default of a flag is judged where the program itself says how many cores there are.
        if is_flag and count is not None:
            size = next(entry_calls.flag_defaults(program, argument.value, call.site), None)
        if size is None or size % replicas == 0 or (is_flag and is_off_by_default(program, call)):
            continue
        # Evaluations and predictions may be told not to use the TPU (`eval_on_tpu=False`).
        is_trained = run in runs and keyword == "train_batch_size"
        is_flag = is_flag or (are_flags and count is not None)
        report(
            argument.site.span,
            f"`{keyword}={size}` is not divisible by {replicas} replicas: TPUEstimator refuses it;"
            f" use {-(-size // replicas) * replicas}",
            certainty=definite_if(
                is_trained, count is not None, not call.context.is_guess, not is_flag
            ),
            doubt="unless the command line sets the flag" if is_flag else "",
        )


def is_off_by_default(program: Program, estimator: ApiCall) -> bool:
    """Return whether the command line has to ask for the TPU: then it can set the batch, too."""
    use_tpu = estimator.value("use_tpu", 4)
    if not isinstance(use_tpu, External):
        return False
    flag = Const(entry_calls.flag_name(use_tpu))
    for call in program.named_any(("DEFINE_bool", "DEFINE_boolean")):
        name, default = call.value("name", 0), call.value("default", 1)
        if name == flag and default is not None and call.site.module is estimator.site.module:
            return default == Const(False)
    return False
