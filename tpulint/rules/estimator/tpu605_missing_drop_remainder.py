"""TPU605: a batch of unknown last size feeds the TPU."""

from __future__ import annotations

from itertools import chain

from tpulint.absint.domain.events import ApiCall, Tensor
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Choice, Const, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import of_one_size
from tpulint.frontends.tensorflow.branch_tests import leaves_tpu
from tpulint.frontends.tensorflow.knowledge.strategies import EMBEDDING
from tpulint.frontends.tensorflow.knowledge.tf_names import UNSEEN_DATASET
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.ordering import reachable
from tpulint.queries import input_pipelines as pipelines
from tpulint.queries.certainty import definite_if
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import Constant

# Methods that give a tensor a static shape by hand.
FIXES = frozenset(["set_shape", "ensure_shape", "reshape", "assert_element_shape"])
# Functions that fill a smaller batch up.
PADS = frozenset(["pad", "concat", "concatenate"])
FIRST = (Const(0), NONE)  # the axis along which batches get longer
POSSIBLE, UNLIKELY = Certainty.POSSIBLE, Certainty.UNLIKELY
Fault = tuple[str, Certainty]  # what comes of a smaller last batch, and how sure that is


@register
class MissingDropRemainder(Rule):
    code = "TPU605"
    name = "missing-drop-remainder"
    severity = Severity.ERROR
    summary = "a batch of unknown last size feeds the TPU"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            # TPUEstimator and Keras fill up the last batch of a prediction themselves. Sparse
            # features that go to a TPU embedding have no static shape.
            is_sparse = isinstance(feed.owner, ExternalObject) and (
                feed.owner.argument("embedding_config_spec") not in (None, NONE)
            )
            if feed.kind == "predict" or is_sparse:
                continue
            data = pipelines.data_of(program, feed)
            is_strategys = isinstance(feed.owner, Strategy)
            seen = data if is_strategys else pipelines.seen_data_of(program, feed)
            batches = pipelines.last_batches(seen)
            if seen is not data:
                batches = [*batches, None]  # nobody sees which of several iterators feeds the TPU
            for batch in filter(None, batches):
                fault = _fault(program, feed, batch, batches)
                if fault is None:
                    continue
                why, certainty = fault
                report(
                    batch.site.span,
                    f"`{batch.last}` without `drop_remainder=True` feeds the TPU: {why}; pass"
                    " `drop_remainder=True`",
                    certainty=certainty,
                    trace=(
                        traces.host_step(feed.site, "takes its input from this pipeline"),
                        traces.host_step(
                            batch.site, "makes batches of which the last may be smaller"
                        ),
                    ),
                    fix=of_one_size(batch, is_never_short=_is_never_short(program, batch.site)),
                    doubt=DOUBTS.get(why, UNLESS_EVEN),
                )


NO_STATIC_SIZE = "the batch has no static size, which TPUEstimator requires"
MAY_BE_SET = "the batch has a static size only where the program sets it by hand"
SET_BY_HAND = "its size is set by hand, and a smaller last batch does not have it"
SET_IN_STEP = "the step gives its share a fixed shape, which that of a smaller last batch has not"
NO_TABLE_SIZE = "a `TPUEmbedding` takes batches of one static size, and this one has none"
OTHER_SIZE = "the TPU program is compiled for one size, and a smaller last batch may fail"
DYNAMIC = "the batch has no static size, so the TPU compiles for sizes up to it"
NO_ROWS = (
    "a replica that gets no rows of the last batch takes the mean of nothing, NaN, unless the rows"
    " fill all batches"
)
UNLESS_EVEN = "unless its size divides the number of rows or the dataset is endless"
DOUBTS = {
    NO_STATIC_SIZE: "if this pipeline feeds the TPU",
    MAY_BE_SET: "unless that is done to each part of it",
    NO_ROWS: "",
    NO_TABLE_SIZE: "",
    DYNAMIC: "",
}


def _fault(
    program: Program, feed: Feed, batch: ExternalObject, batches: list[ExternalObject | None]
) -> Fault | None:
    """Return what a smaller last batch does on the TPU, None where the author expects it."""
    if not pipelines.keeps_remainder(batch):
        return None
    dropping = [other for other in batches if other and pipelines.keeps_remainder(other) is False]
    if isinstance(feed.owner, Strategy):
        if is_looked_up(program, feed):
            is_certain = len(batches) == 1 and not feed.context.is_guess
            return NO_TABLE_SIZE, definite_if(is_certain)
        # On one way to the TPU the program drops it: so it knows about it.
        return None if dropping else _fault_of_strategy(program, feed, batch)
    later = pipelines.calls_behind(program, feed, batch)
    is_set, fits, why = _set_by_hand(later, batch)
    # The graph has a static size, which a smaller last batch does not have when it comes.
    if is_set and (dropping or fits):
        return None
    if dropping:
        starts = {id(source) for other in dropping for source in pipelines.sources(other)}
        chosen = any(
            id(source) in starts or pipelines.is_window(source)
            for source in pipelines.sources(batch)
        )
        # Of one dataset the program drops the remainder where it must; of another it forgot to.
        return None if chosen or leaves_tpu(batch.context) else (NO_STATIC_SIZE, POSSIBLE)
    if why:
        knows = has_two_ways(pipelines.seen_data_of(program, feed), batch)
        return None if knows else (why, POSSIBLE)
    is_certain = all(other is not None and pipelines.keeps_remainder(other) for other in batches)
    is_seen = not _is_unseen(batch)
    return NO_STATIC_SIZE, definite_if(is_certain, is_seen, not feed.context.is_guess)


def _set_by_hand(later: list[ApiCall], batch: ExternalObject) -> tuple[bool, bool, str]:
    """Return how far the calls behind a batch set its size.

    That is whether every component has one on every way, whether no batch of another size comes,
    and what is left to fear.
    """
    fixes = [call for call in later if call.last in FIXES]
    is_padded = any(map(_fills_up, later))
    is_sure = _is_always_called([call for call in fixes if _sets_component(call)], batch)
    is_fixed = _is_always_called(fixes, batch)
    origin = pipelines.before(batch) or UNKNOWN
    is_whole = any(map(pipelines.is_window, pipelines.sources(origin))) or pipelines.comes_out_even(
        batch
    )
    fits = is_padded or is_whole or pipelines.is_endless(origin)
    why = SET_BY_HAND if is_fixed and not fits else MAY_BE_SET if fixes else ""
    return is_sure or (is_fixed and is_padded), fits, why


def _sets_component(call: ApiCall) -> bool:
    """Return whether a call sets the size of what is batched: a `reshape` may be of a sum of it."""
    reshaped = call.arguments[0].value.options if call.arguments else ()
    is_computed = all(isinstance(part, Tensor) and part.sort == "tensor" for part in reshaped)
    return call.last != "reshape" or not (reshaped and is_computed)


def _fills_up(call: ApiCall) -> bool:
    """Return whether a call can fill a smaller batch up, along its first axis."""
    axis = call.value("axis", 1) if call.last != "pad" else None
    is_within = isinstance(axis, Const) and axis not in FIRST
    return call.last in PADS and not is_within


def _is_always_called(calls: list[ApiCall], batch: ExternalObject) -> bool:
    """Return whether one of the calls is made on every way: one tested both ways, too."""
    choices = [call.context.choices_beyond(batch.context) for call in calls]
    tested = {choice for several in choices for choice in several}
    return not all(choices) or any((key, branch is False) in tested for key, branch in tested)


def _is_unseen(batch: ExternalObject) -> bool:
    """Return whether nothing but the name of its method tells that this is a dataset's."""
    origins = pipelines.sources(pipelines.before(batch) or UNKNOWN)
    is_named = any(keyword == "drop_remainder" for keyword, _ in batch.arguments)
    return not is_named and any(
        isinstance(origin, ExternalObject) and origin.path == UNSEEN_DATASET for origin in origins
    )


# `if repeats: dataset = dataset.map(set_size)`: the author knows where the last batch is smaller.
def has_two_ways(data: Value, batch: ExternalObject) -> bool:
    """Return whether a way from the batch to `data` has a `map`, and another has none."""

    def onward(way: tuple[Value, bool]) -> list[tuple[Value, bool]]:
        value, is_mapped = way
        if isinstance(value, Choice):
            return [(option, is_mapped) for option in value.options]
        if not isinstance(value, ExternalObject) or value is batch:
            return []
        source = pipelines.before(value)
        return [] if source is None else [(source, is_mapped or value.last == "map")]

    ways = reachable([(data, False)], onward, lambda way: (id(way[0]), way[1]))
    return len({is_mapped for value, is_mapped in ways if value is batch}) > 1


# tensorflow/python/tpu/tpu_embedding_v2.py: `enqueue` takes the shapes from what it gets, where
# neither `build` nor a `FeatureConfig` has given them.
def is_looked_up(program: Program, feed: Feed) -> bool:
    """Return whether a `TPUEmbedding` learns its shapes from batches of this pipeline."""
    features = program.named.get("FeatureConfig", ())
    is_told = any(call.argument("output_shape", 3) is not None for call in features)
    is_built = any(call.arguments for call in program.named.get("build", ()))
    return not (is_told or is_built) and any(
        isinstance(call.receiver, ExternalObject)
        and call.receiver.last == EMBEDDING
        and feed.site in pipelines.places_of_data(call.arguments[:1])
        for call in program.named.get("enqueue", ())
    )


def _fault_of_strategy(program: Program, feed: Feed, batch: ExternalObject) -> Fault | None:
    """Return what a smaller batch does to a TPUStrategy, None where the author expects it.

    Where the call says explicitly what to drop, the author wants the remainder; and most
    want all examples of an evaluation. A TPUStrategy can take a smaller batch, but for a few
    operations; it fails where it evaluates such a batch and trains on batches of one size.
    """
    settings = [
        call.argument("drop_remainder", pipelines.BATCHES[batch.last])
        for call in chain(pipelines.calls_of(program, feed), program.by_result.get(id(batch), ()))
        if call.result is batch
    ]
    written = [setting.node for setting in settings if setting is not None]
    endless = pipelines.is_endless(pipelines.before(batch) or UNKNOWN)
    if feed.kind == "evaluate":
        is_forgotten = any(isinstance(node, Constant) for node in written) and any(
            other_batch is not None and pipelines.keeps_remainder(other_batch) is False
            for other in program.feeds
            if other.kind == "fit" and other.site is feed.site
            for other_batch in pipelines.last_batches(pipelines.data_of(program, other))
        )
        return (OTHER_SIZE, POSSIBLE) if is_forgotten and not endless else None
    if endless:  # no batch is smaller, but the program is compiled as if one could be
        return (DYNAMIC, UNLIKELY) if feed.kind == "fit" and not written else None
    if (
        feed.kind == "distribute"
        and not pipelines.comes_out_even(batch)
        and pipelines.fixes_rows(program, feed)
    ):
        return SET_IN_STEP, POSSIBLE
    # A file that drops other remainders may have forgotten this one, also where it evaluates.
    drops_others = pipelines.drops_remainders(batch.site.module)
    is_wanted = not drops_others and pipelines.is_for_inference(program, feed)
    if written or is_wanted or pipelines.comes_out_even(batch):
        return None
    if feed.kind == "distribute" and pipelines.takes_mean(program, feed):
        return NO_ROWS, POSSIBLE
    return OTHER_SIZE, POSSIBLE if drops_others else UNLIKELY


def _is_never_short(program: Program, site: Site | None) -> bool:
    """Return whether none of the batches that this place makes can be a smaller one."""
    return all(
        pipelines.is_never_short(batch)
        for feed in program.feeds
        for batch in pipelines.last_batches(pipelines.data_of(program, feed))
        if batch is not None and batch.site == site
    )
