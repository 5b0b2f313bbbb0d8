"""TPU612: the input of a TPUEstimator ends before its last step."""

from __future__ import annotations

from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, Value
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge.seam import BATCH_SIZES, CORES_OF_A_HOST
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import constant_int
from tpulint.queries.estimators import estimator_of, may_use_tpu, surely_uses_tpu, tpu_config_value
from tpulint.queries.input_pipelines import Amount, amounts, data_of
from tpulint.rules.base import Report, Rule, register

# How many rows of a batch each host takes at least: one for each of its cores.
FEWEST_CORES = 4
# tensorflow_estimator/python/estimator/estimator.py: the arguments that say how many steps.
STEPS = {"train": (("steps", 2), ("max_steps", 3)), "evaluate": (("steps", 1),)}


class Shortage(NamedTuple):
    """How sure it is that the examples are too few, and the numbers in words."""

    certainty: Certainty
    needed: str


@register
class InputEndsEarly(Rule):
    code = "TPU612"
    name = "input-ends-early"
    severity = Severity.ERROR
    summary = "input of a TPUEstimator that ends before the last step"

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            estimator = estimator_of(program, feed)
            if estimator is None or feed.kind not in STEPS or not may_use_tpu(estimator):
                continue
            steps = steps_of(program, feed)
            ways = amounts(data_of(program, feed))
            amount = ways[0]
            # Of several ways, one may be for another use of the function.
            if steps is None or amount is None or len(ways) > 1:
                continue
            short = shortage(feed, estimator, steps, amount)
            if short is not None:
                _report(feed, amount, short, report)


def _report(feed: Feed, amount: Amount, short: Shortage, report: Report) -> None:
    advice = "add `.repeat()`" if feed.kind == "train" else "ask for fewer steps"
    unit = "example" if amount.is_batched else "element"
    plural = "" if amount.count == 1 else "s"
    ends = "ends" if amount.count is None else f"ends after {amount.count:,} {unit}{plural}"
    report(
        amount.source.site.span,
        f"the input {ends}, but {short.needed}: a TPU then raises an OutOfRangeError; {advice}",
        certainty=short.certainty,
        trace=(
            traces.step(HOST_LANE, feed.site, "takes its input from this pipeline"),
            traces.step(HOST_LANE, amount.source.site, "is read once"),
        ),
    )


def steps_of(program: Program, feed: Feed) -> Value | None:
    """Return how many steps are asked for; None if none are, or if that is not seen.

    `train_and_evaluate` trains in several parts, each with the input from its beginning.
    """
    for call in program.at.get(feed.site, ()):
        if call.last == feed.kind:
            given = [call.argument(*row) for row in STEPS[feed.kind]]
            values = [argument.value for argument in given if argument is not None]
            return next((value for value in values if value != NONE), None)
    return None


def shortage(feed: Feed, estimator: ApiCall, steps: Value, amount: Amount) -> Shortage | None:
    """Return how sure it is that there are fewer examples than steps need; None if enough."""
    number = constant_int(steps)
    size = estimator.argument(*BATCH_SIZES[feed.kind])
    batch = constant_int(size.value) if size is not None else None
    if number is None or amount.count is None:
        return _unknown_shortage(feed, number, amount)
    one_host = _has_one_host(estimator)
    if not amount.is_batched:
        batch = None
    # Each host reads the input from its beginning, and takes its part of each batch. Where the
    # elements are batches, a host takes one at least.
    least = 1 if batch is None else batch if one_host else min(batch, FEWEST_CORES)
    if amount.count < number * least:
        certain = (
            surely_uses_tpu(estimator)
            and not estimator.context.is_guess
            and not feed.context.is_guess
        )
        words = f"{number:,} steps need {number * least:,} at least"
        return Shortage(definite_if(certain), words)
    if batch is not None and amount.count < number * batch:
        return Shortage(Certainty.POSSIBLE, f"{number:,} steps on one host need {number * batch:,}")
    return None


def _unknown_shortage(feed: Feed, number: int | None, amount: Amount) -> Shortage | None:
    """Return the shortage of training data of unknown length; evaluations read theirs once."""
    if feed.kind != "train":
        return None
    steps = "the steps" if number is None else f"{number:,} steps"
    words = f"{steps} may need more than it holds"
    return Shortage(Certainty.POSSIBLE, words)


def _has_one_host(estimator: ApiCall) -> bool:
    """Return whether the configuration says that all cores are of one host."""
    shards = constant_int(tpu_config_value(estimator, "num_shards", 1))
    return shards is not None and shards <= CORES_OF_A_HOST
