"""TPU612: the input of a TPUEstimator, or of a loop with a TPUStrategy, ends too early."""

from __future__ import annotations

from math import isinf, prod

from tpulint.absint.domain.context import DATA, LOOP, WHILE, Scope
from tpulint.absint.domain.events import ApiCall, Context
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, CORES_OF_A_HOST
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import (
    constant_int,
    fed_estimators,
    may_evaluate_elsewhere,
    surely_used,
    tpu_config_value,
)
from tpulint.queries.input_pipelines import Amount, amounts, data_of, most_elements, steps
from tpulint.queries.launches import STEPS_ARGUMENTS, least_rounds, steps_asked_for
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# How many rows of a batch each host takes at least: one for each of its cores.
FEWEST_CORES = 4
SPECS = {"train": "TrainSpec", "evaluate": "EvalSpec"}


@register
class InputEndsEarly(Rule):
    code = "TPU612"
    name = "input-ends-early"
    severity = Severity.ERROR
    summary = "input that ends before the last step"

    def check(self, program: Program, report: Report) -> None:
        _check_taken(program, report)
        for feed, estimator in fed_estimators(program):
            if feed.kind not in STEPS_ARGUMENTS:
                continue
            _check_number(program, feed, estimator, report)
            steps = steps_asked_for(program, feed)
            ways = amounts(data_of(program, feed))
            # Of several ways, one may be for another use of the function.
            if steps is not None and ways[0] is not None and len(ways) == 1:
                _check_amount(feed, estimator, steps, ways[0], report)


def _check_number(program: Program, feed: Feed, estimator: ApiCall, report: Report) -> None:
    """Report a use without a number of steps: on a TPU nothing ends it."""
    call = call_with_steps(program, feed)
    if call is None or call.is_starred:
        return
    keyword = STEPS_ARGUMENTS[feed.kind][-1][0]
    is_specification = call.last == SPECS[feed.kind]
    places = ((keyword, 1),) if is_specification else STEPS_ARGUMENTS[feed.kind]
    values = [call.value(*place) for place in places]
    # EvalSpec has a number of its own by default.
    has_default = is_specification and feed.kind == "evaluate" and values == [None]
    if has_default or any(value not in (None, NONE) for value in values):
        return
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
            makers = (program.by_result.get(id(item.value), ()) for item in call.arguments)
            return next((call for calls in makers for call in calls if call.last == name), None)
    return None


def _check_amount(
    feed: Feed, estimator: ApiCall, steps: Value, amount: Amount, report: Report
) -> None:
    """Report that there are fewer examples than the steps need, or may be."""
    number, count = constant_int(steps), amount.count
    batch = constant_int(estimator.value(*BATCH_SIZES[feed.kind])) if amount.is_batched else None
    certainty, ends = Certainty.POSSIBLE, "ends"
    if count is not None:
        unit = "example" if amount.is_batched else "element"
        ends = f"ends after {count:,} {unit}{'' if count == 1 else 's'}"
    if number is None or count is None:
        # Training data of unknown length may be too short; evaluations read theirs once.
        if feed.kind != "train":
            return
        many = "the steps" if number is None else f"{number:,} steps"
        needed = f"{many} may need more than it holds"
    else:
        # Each host reads the input from its beginning, and takes its part of each batch. Where the
        # elements are batches, a host takes one at least.
        shards = constant_int(tpu_config_value(estimator, "num_shards", 1))
        has_one_host = shards is not None and shards <= CORES_OF_A_HOST
        least = 1 if batch is None else batch if has_one_host else min(batch, FEWEST_CORES)
        if count < number * least:
            needed = f"{number:,} steps need {number * least:,} at least"
            certainty = definite_if(surely_used(estimator, feed.context))
        elif batch is not None and count < number * batch:
            needed = f"{number:,} steps on one host need {number * batch:,}"
        else:
            return
    advice = "add `.repeat()`" if feed.kind == "train" else "ask for fewer steps"
    report(
        amount.source.site.span,
        f"the input {ends}, but {needed}: a TPU then raises an OutOfRangeError; {advice}",
        certainty=certainty,
        trace=(
            traces.host_step(feed.site, "takes its input from this pipeline"),
            traces.host_step(amount.source.site, "is read once"),
        ),
    )


def _check_taken(program: Program, report: Report) -> None:
    """Report where loops of known lengths take more batches than a distributed dataset has.

    Each `next` counts as often as the loops around it say, the last one is reported.
    """
    iterators = program.named.get("iter", [])
    for feed in program.feeds:
        if feed.kind != "distribute" or feed.function is not None:
            continue
        starts = [call for call in iterators if _reads(call, feed)]
        batches = most_elements(feed.data)
        if len(starts) != 1 or isinf(batches):
            continue
        takes = [call for call in program.named.get("next", ()) if _reads(call, feed)]
        takes += [call for call in program.named.get("get_next", ()) if _reads(call, feed)]
        counts = [(call, *_rounds_since(program, starts[0].context, call)) for call in takes]
        taken = sum(count for _, _, count in counts)
        in_loops = [(call, loops) for call, loops, count in counts if loops and count]
        if taken <= batches or not in_loops:
            continue
        call, loops = in_loops[-1]
        # Where the options of a dataset turn off sharding, each host reads all of it.
        is_shared = any(step.last == "with_options" for step in steps(feed.data))
        report(
            call.site.span,
            f"the dataset holds {int(batches):,} {'batch' if batches == 1 else 'batches'}, but"
            f" {taken:,} are taken from it: the loop ends with an OutOfRangeError; make a new"
            " iterator, repeat the dataset, or take fewer",
            certainty=definite_if(not is_shared),
            trace=(
                traces.host_step(feed.site, "distributes the dataset"),
                traces.host_step(starts[0].site, "begins to read it"),
                traces.host_step(loops[-1].site, "repeats what takes a batch"),
            ),
        )


def _reads(call: ApiCall, feed: Feed) -> bool:
    """Return whether a call of `iter`, `next` or `get_next` reads the data that is fed."""
    read = call.receiver or (call.arguments[0].value if call.arguments else None)
    return isinstance(read, ExternalObject) and read.source is not None and read.source == feed.data


def _rounds_since(program: Program, start: Context, call: ApiCall) -> tuple[list[Scope], int]:
    """Return the loops around a call since `start`, and how often it is surely made; else 0."""
    context = call.context
    loops = [scope for scope in context.scopes if scope.kind in (LOOP, WHILE)]
    before = [scope for scope in start.scopes if scope.kind in (LOOP, WHILE)]
    is_sure = (
        context.run == start.run
        and context.reached_whenever(start)
        and not (context.is_guess or context.is_tried)
        and not context.is_inside(DATA)
        and [scope.site for scope in loops[: len(before)]] == [scope.site for scope in before]
    )
    inner = loops[len(before) :]
    counts = [least_rounds(program, loop) for loop in inner] if is_sure else [0]
    return inner, prod(counts) if counts else int(is_sure)
