"""TPU612: the input of a TPUEstimator, or of a loop with a TPUStrategy, ends too early."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf, prod
from typing import NamedTuple

from tpulint.absint.domain.context import DATA, LOOP, WHILE, Scope
from tpulint.absint.domain.events import ApiCall, Context
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, Value
from tpulint.diagnostics import traces
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, CORES_OF_A_HOST
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import (
    constant_int,
    estimator_of,
    may_evaluate_elsewhere,
    may_use_tpu,
    surely_used,
    tpu_config_value,
)
from tpulint.queries.input_pipelines import Amount, amounts, data_of, most_elements, steps
from tpulint.queries.launches import least_rounds
from tpulint.rules.base import Report, Rule, register

# How many rows of a batch each host takes at least: one for each of its cores.
FEWEST_CORES = 4
# tensorflow_estimator/python/estimator/estimator.py: the arguments that say how many steps.
SPECS = {"train": "TrainSpec", "evaluate": "EvalSpec"}
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
    summary = "input that ends before the last step"

    def check(self, program: Program, report: Report) -> None:
        for taken in too_often_taken(program):
            _report_taken(taken, report)
        for feed in program.feeds:
            estimator = estimator_of(program, feed)
            if estimator is None or feed.kind not in STEPS or not may_use_tpu(estimator):
                continue
            _check_number(program, feed, estimator, report)
            steps = steps_of(program, feed)
            ways = amounts(data_of(program, feed))
            amount = ways[0]
            # Of several ways, one may be for another use of the function.
            if steps is None or amount is None or len(ways) > 1:
                continue
            short = shortage(feed, estimator, steps, amount)
            if short is not None:
                _report(feed, amount, short, report)


def _check_number(program: Program, feed: Feed, estimator: ApiCall, report: Report) -> None:
    """Report a use without a number of steps: on a TPU nothing ends it."""
    call = call_with_steps(program, feed)
    if call is None or not lacks_steps(call, feed.kind):
        return
    keyword = STEPS[feed.kind][-1][0]
    report(
        call.site.span,
        f"no `{keyword}` says when to stop: on a TPU, `{feed.kind}` raises a ValueError; pass it",
        certainty=definite_if(
            surely_used(estimator, feed.context),
            feed.kind != "evaluate" or not may_evaluate_elsewhere(estimator),
        ),
        trace=(
            traces.host_step(estimator.site, "makes the estimator for a TPU"),
            traces.host_step(call.site, f"gives no `{keyword}`"),
        ),
    )


def call_with_steps(program: Program, feed: Feed) -> ApiCall | None:
    """Return the call that may say how many steps: `train`, `evaluate`, or a specification's."""
    name = SPECS[feed.kind]
    for call in program.at.get(feed.site, ()):
        if call.last == feed.kind:
            return call
        if call.last == "train_and_evaluate":
            specifications = [argument.value for argument in call.arguments]
            makers = [program.by_result.get(id(value), ()) for value in specifications]
            return next((call for calls in makers for call in calls if call.last == name), None)
    return None


def lacks_steps(call: ApiCall, kind: str) -> bool:
    """Return whether it certainly says None. EvalSpec has a number of its own by default."""
    if call.is_starred:
        return False
    is_specification = call.last == SPECS[kind]
    places = ((STEPS[kind][-1][0], 1),) if is_specification else STEPS[kind]
    arguments = [call.argument(*place) for place in places]
    if is_specification and kind == "evaluate" and arguments == [None]:
        return False
    return all(argument is None or argument.value == NONE for argument in arguments)


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
            traces.host_step(feed.site, "takes its input from this pipeline"),
            traces.host_step(amount.source.site, "is read once"),
        ),
    )


def steps_of(program: Program, feed: Feed) -> Value | None:
    """Return how many steps are asked for; None if none are, or if that is not seen.

    `train_and_evaluate` trains in several parts, each with the input from its beginning.
    """
    for call in program.at.get(feed.site, ()):
        if call.last == feed.kind:
            arguments = [call.argument(*row) for row in STEPS[feed.kind]]
            values = [argument.value for argument in arguments if argument is not None]
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
        words = f"{number:,} steps need {number * least:,} at least"
        return Shortage(definite_if(surely_used(estimator, feed.context)), words)
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


class TooFewBatches(NamedTuple):
    """A distributed dataset of which a loop takes more batches than there are.

    loops: those around `call`, which takes one, since the iterator was made.
    """

    feed: Feed
    begun: ApiCall
    call: ApiCall
    loops: list[Scope]
    batches: int
    taken: int


def _report_taken(taken: TooFewBatches, report: Report) -> None:
    loop = taken.loops[-1]
    batches = "batch" if taken.batches == 1 else "batches"
    # Where the options of a dataset turn off sharding, each host reads all of it.
    is_shared = any(step.last == "with_options" for step in steps(taken.feed.data))
    report(
        taken.call.site.span,
        f"the dataset holds {taken.batches:,} {batches}, but {taken.taken:,} are taken from it: the"
        " loop ends with an OutOfRangeError; make a new iterator, repeat the dataset, or take"
        " fewer",
        certainty=definite_if(not is_shared),
        trace=(
            traces.host_step(taken.feed.site, "distributes the dataset"),
            traces.host_step(taken.begun.site, "begins to read it"),
            traces.host_step(loop.site, "repeats what takes a batch"),
        ),
    )


def too_often_taken(program: Program) -> Iterator[TooFewBatches]:
    """Yield where loops of known lengths take more batches than a distributed dataset has.

    Each `next` counts as often as the loops around it say, the last one is reported.
    """
    iterators = program.named.get("iter", [])
    for feed in program.feeds:
        if feed.kind != "distribute" or feed.function is not None:
            continue
        starts = [call for call in iterators if feed.data in _read_by(call)]
        batches = most_elements(feed.data)
        if len(starts) != 1 or isinf(batches):
            continue
        takes = [
            call
            for name in ("next", "get_next")
            for call in program.named.get(name, ())
            if feed.data in _read_by(call)
        ]
        counts = [(call, *_rounds_since(program, starts[0].context, call)) for call in takes]
        taken = sum(count for _, _, count in counts)
        in_loops = [(call, loops) for call, loops, count in counts if loops and count]
        if taken > batches and in_loops:
            call, loops = in_loops[-1]
            yield TooFewBatches(feed, starts[0], call, loops, int(batches), taken)


def _read_by(call: ApiCall) -> list[Value]:
    """Return the dataset that a call of `iter`, `next` or `get_next` reads, if it is known."""
    read = call.receiver or (call.arguments[0].value if call.arguments else None)
    if not isinstance(read, ExternalObject) or read.source is None:
        return []
    return [read.source]


def _rounds_since(program: Program, start: Context, call: ApiCall) -> tuple[list[Scope], int]:
    """Return the loops around a call since `start`, and how often it is surely made; else 0."""
    context = call.context
    loops = [scope for scope in context.scopes if scope.kind in (LOOP, WHILE)]
    before = [scope for scope in start.scopes if scope.kind in (LOOP, WHILE)]
    is_sure = (
        context.run == start.run
        and context.reached_whenever(start)
        and not (context.is_guess or context.is_tried)
        and not any(scope.kind == DATA for scope in context.scopes)
        and [scope.site for scope in loops[: len(before)]] == [scope.site for scope in before]
    )
    inner = loops[len(before) :]
    counts = [least_rounds(program, loop) for loop in inner] if is_sure else [0]
    return inner, prod(counts) if counts else int(is_sure)
