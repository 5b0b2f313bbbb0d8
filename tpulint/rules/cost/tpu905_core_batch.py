"""TPU905: the batch of a core fills the rows of a tile only in part.

The facts: tiles have 8 rows of 128 elements (`tpulint.hardware`), and Google's guide to TPUs asks
for a batch that is a multiple of 64 on 8 cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Tensor
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Scaled, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, REPLICAS
from tpulint.hardware import SUBLANES
from tpulint.queries import entry_calls
from tpulint.queries.certainty import definite_if
from tpulint.queries.input_pipelines import before, data_of, last_batches, most_elements
from tpulint.queries.launches import FEW_STEPS, is_training_feed
from tpulint.rules.base import Program, Report, Rule, Severity, register

USUAL_CORES = 8  # of a v2 or v3 with one host
MULTIPLE = f"make it a multiple of {SUBLANES * USUAL_CORES}"
KERAS_BATCH = 32  # keras/src/trainers/trainer.py: of `fit`, for arrays


class CoreBatch(NamedTuple):
    """The examples that a core gets in a step: `size`, of `whole` for all cores where that counts.

    is_sure: neither depends on the TPU that the program gets.
    """

    size: int
    site: Site
    is_sure: bool
    whole: int | None = None


@register
class CoreBatchRule(Rule):
    code = "TPU905"
    name = "core-batch"
    severity = Severity.PERFORMANCE
    summary = "a batch per core that tiles of 8 rows pad"

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            is_sure = is_training_feed(program, feed)
            if is_sure is None:
                continue
            for batch in core_batches(program, feed, is_sure):
                if batch.size and batch.size % SUBLANES == 0:
                    continue
                doubt = "if a TPU trains on them"
                if batch.whole is not None:
                    doubt = "if the TPU has 8 cores"
                report(
                    batch.site.span,
                    message_of(batch),
                    certainty=definite_if(batch.is_sure),
                    trace=(
                        traces.host_step(feed.site, "trains on these batches"),
                        traces.host_step(batch.site, "says how many examples a batch has"),
                    ),
                    doubt=doubt,
                )


def message_of(batch: CoreBatch) -> str:
    """Return what the batch costs, and what to do."""
    whole = "" if batch.whole is None else f" of {batch.whole:,}"
    if batch.size == 0:
        idle = USUAL_CORES - (batch.whole or 0)
        return (
            f"{USUAL_CORES} cores share a batch{whole}, and {idle} of them get nothing: {MULTIPLE}"
        )
    filled = -(-batch.size // SUBLANES) * SUBLANES
    padding = round(100 * (filled - batch.size) / filled)
    cores, advice = "each core", f"make it {filled:,} for each core"
    if batch.whole is not None and not batch.is_sure:
        cores, advice = f"each of {USUAL_CORES} cores", MULTIPLE
    plural = "" if batch.size == 1 and not whole else "s"
    return (
        f"{cores} gets {batch.size:,}{whole} example{plural}, and a TPU pads them to"
        f" {filled:,} rows: {padding} % of a dense layer's work on them is padding; {advice}"
    )


def core_batches(program: Program, feed: Feed, is_sure: bool) -> Iterator[CoreBatch]:
    """Yield what the program says of the batch that a core gets."""
    estimator = entry_calls.estimator_of(program, feed)
    if estimator is not None:
        yield from _of_estimator(estimator)
        return
    data = data_of(program, feed)
    if feed.kind == "fit" and isinstance(feed.data, Tensor):
        yield from _of_arrays(program, feed, is_sure)
    batches = last_batches(data)
    for batch in filter(None, batches):
        is_certain = is_sure and len(batches) == 1 and not batch.context.is_guess
        size = batch.argument("batch_size", 0) or UNKNOWN
        # An example, or a test: the data are over after a few steps.
        least = entry_calls.constant_int(size) or per_core(size) or 1
        examples = most_elements(before(batch) or UNKNOWN)
        if min(most_elements(data), examples / least) >= FEW_STEPS:
            yield from _of_size(size, batch.site, is_certain, is_of_core=feed.function is not None)


def _of_size(value: Value, site: Site, is_sure: bool, *, is_of_core: bool) -> Iterator[CoreBatch]:
    """Yield the batch of a core; `is_of_core`: the number is already that of one core."""
    size = per_core(value)
    if size is not None:
        yield CoreBatch(size, site, is_sure)
        return
    number = entry_calls.constant_int(value)
    if number is None or number <= 0:
        return
    if is_of_core:
        yield CoreBatch(number, site, is_sure)
    elif number < USUAL_CORES or (number < SUBLANES * USUAL_CORES and number % USUAL_CORES == 0):
        yield CoreBatch(number // USUAL_CORES, site, False, number)


def per_core(value: Value) -> int | None:
    """Return the factor of `n * strategy.num_replicas_in_sync`."""
    if not isinstance(value, Scaled) or value.unit != REPLICAS or value.power != 1:
        return None
    return value.number if value.number is not None and value.number > 0 else None


def _of_arrays(program: Program, feed: Feed, is_sure: bool) -> Iterator[CoreBatch]:
    """Yield the batch that `fit` makes of arrays."""
    shape = feed.data.shape if isinstance(feed.data, Tensor) else None
    rows = shape[0] if shape else None
    for call in program.at.get(feed.site, ()):
        if call.last != "fit" or call.is_starred:
            continue
        size = call.argument("batch_size", 2)
        if size is not None and size.value != NONE:
            yield from _of_size(size.value, size.site, is_sure, is_of_core=False)
        elif not rows or rows / KERAS_BATCH >= FEW_STEPS:
            yield CoreBatch(KERAS_BATCH // USUAL_CORES, feed.site, False, KERAS_BATCH)


def _of_estimator(estimator: ApiCall) -> Iterator[CoreBatch]:
    """Yield the batch of a core of a TPUEstimator, which shares the batch among the shards."""
    argument = estimator.argument(*BATCH_SIZES["train"])
    size = None if argument is None else entry_calls.constant_int(argument.value)
    shards = entry_calls.constant_int(entry_calls.tpu_config_value(estimator, "num_shards", 1))
    shares_cores = entry_calls.tpu_config_value(estimator, "num_cores_per_replica", 2) != NONE
    if argument is None or not size or shares_cores:
        return
    is_sure = entry_calls.surely_uses_tpu(estimator) and not estimator.context.is_guess
    if shards and size % shards == 0:
        yield CoreBatch(size // shards, argument.site, is_sure, size)
    elif shards is None:
        yield from _of_size(argument.value, argument.site, is_sure, is_of_core=False)
