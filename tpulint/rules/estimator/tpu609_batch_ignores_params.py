"""TPU609: an input_fn makes batches of another size than TPUEstimator asks for."""

from __future__ import annotations

from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Opaque, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, CORES_OF_A_HOST, PER_CORE
from tpulint.ordering import Truth
from tpulint.queries import entry_calls
from tpulint.queries.certainty import definite_if
from tpulint.queries.input_pipelines import data_of, last_batches
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# The position of a batch's size among the arguments, where it is not the first.
POSITIONS = {"map_and_batch": 1, "map_and_batch_with_legacy_function": 1}


class SizeFault(NamedTuple):
    """The certainty and the words of what is wrong with a size, and what would make it right."""

    certainty: Certainty
    harm: str
    doubt: str = ""


@register
class BatchIgnoresParams(Rule):
    code = "TPU609"
    name = "batch-ignores-params"
    severity = Severity.ERROR
    summary = "an input_fn whose batch size is not the one that TPUEstimator asks for"

    def check(self, program: Program, report: Report) -> None:
        for feed, estimator in entry_calls.fed_estimators(program):
            if entry_calls.broadcasts_input(program, estimator) is not False:
                continue
            batches = [batch for batch in last_batches(data_of(program, feed)) if batch is not None]
            due = estimator.value(*BATCH_SIZES[feed.kind]) or NONE
            has_due_size = any(is_same(size_of(batch) or UNKNOWN, due) for batch in batches)
            for batch in batches:
                wrong = size_fault(program, feed, estimator, batch)
                # Another branch batches by the estimator's own flag, and may be this mode's.
                if wrong is None or (wrong.doubt and has_due_size):
                    continue
                report(
                    batch.site.span,
                    f'{wrong.harm}: use `params["batch_size"]`',
                    certainty=wrong.certainty,
                    doubt=wrong.doubt,
                    trace=(
                        traces.host_step(estimator.site, "sets the batch size"),
                        traces.host_step(feed.site, "takes its input from this pipeline"),
                        traces.host_step(batch.site, "makes batches of its own size"),
                    ),
                )


def size_of(batch: ExternalObject) -> Value | None:
    """Return the size of the batches that a step of a pipeline makes."""
    return batch.argument("batch_size", POSITIONS.get(batch.last, 0))


def size_fault(
    program: Program, feed: Feed, estimator: ApiCall, batch: ExternalObject
) -> SizeFault | None:
    """Return what is wrong with the size of the batches, None where that is nothing."""
    keyword, position = BATCH_SIZES[feed.kind]
    argument = estimator.argument(keyword, position)
    size = size_of(batch)
    if argument is None or size is None or entry_calls.has_one_replica(estimator) is not Truth.NO:
        return None
    certainty = definite_if(not feed.context.is_guess, not estimator.context.is_guess)
    shards = entry_calls.constant_int(entry_calls.tpu_config_value(estimator, "num_shards", 1))
    if entry_calls.tpu_config_value(estimator, "num_cores_per_replica", 2) != NONE:
        shards = None
    has_one_host = shards is not None and shards <= CORES_OF_A_HOST
    is_for_core = feeds_each_core(feed, estimator)
    too_large = f"each {'core' if is_for_core else 'host'} gets a batch as large as the whole"
    # `batch(FLAGS.batch_size)` and `train_batch_size=FLAGS.batch_size` are one flag.
    if is_same(size, argument.value):
        is_fault = is_for_core or (shards is not None and not has_one_host)
        return SizeFault(certainty, f"{too_large} `{keyword}`") if is_fault else None
    batched, total = entry_calls.constant_int(size), entry_calls.constant_int(argument.value)
    if batched is not None and isinstance(argument.value, (External, Opaque)):
        doubt = f"unless `{keyword}` is always {batched}"
        is_default = batched in entry_calls.flag_defaults(program, argument.value, argument.site)
        harm = f"the batch is {batched}, whatever `{keyword}` is"
        if is_default and is_for_core:
            harm, doubt = f"{too_large} `{keyword}`", "unless the command line sets the flag"
            return SizeFault(Certainty.POSSIBLE, harm, doubt)
        return SizeFault(Certainty.UNLIKELY if is_default else Certainty.POSSIBLE, harm, doubt)
    flag = flag_of(size)
    if flag and has_one_host and not is_for_core:
        due = flag_of(argument.value) or ("" if total is None else str(total))
        harm = f"the batch is `{flag}`, whatever `{keyword}` is"
        is_default = total is not None and total in entry_calls.flag_defaults(
            program, size, argument.site
        )
        certainty = Certainty.UNLIKELY if is_default else Certainty.POSSIBLE
        return SizeFault(certainty, harm, f"unless `{flag}` is always {due}") if due else None
    if batched is None or total is None or is_for_core:
        return None
    harm = f"a host's batch of {batched} is not its share of `{keyword}={total}`"
    # A smaller one may be right for as many hosts.
    is_fault = batched > total or (has_one_host and batched != total)
    return SizeFault(certainty, harm) if is_fault else None


def feeds_each_core(feed: Feed, estimator: ApiCall) -> bool:
    """Return whether the input_fn is called for each core, or its batches go to one each."""
    mode = entry_calls.tpu_config_value(estimator, "per_host_input_for_training", 3)
    if isinstance(mode, External) and mode.last in PER_CORE:
        return feed.kind == "train" or mode.last == "PER_HOST_V2"
    return mode == Const(False) and feed.kind == "train"


def is_same(left: Value, other: Value) -> bool:
    """Return whether both are one constant, one flag, or one thing that is not known."""
    if isinstance(left, Opaque):
        return left is other
    if isinstance(left, External) and isinstance(other, External):
        return entry_calls.flag_name(left) == entry_calls.flag_name(other)
    return isinstance(left, Const) and left == other


def flag_of(value: Value) -> str:
    """Return a flag as a program writes it; "" where the value is none."""
    if not isinstance(value, External) or "FLAGS." not in value.path:
        return ""
    return f"FLAGS.{entry_calls.flag_name(value)}"
