"""TPU605: a batch of unknown last size feeds the TPU."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import all_tensors
from tpulint.absint.domain.values import NONE, UNKNOWN, Choice, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import of_one_size
from tpulint.finding import HOST_LANE, Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.branch_tests import leaves_tpu
from tpulint.frontends.tensorflow.knowledge.strategies import EMBEDDING
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.input_pipelines import (
    BATCHES,
    before,
    calls_of,
    comes_out_even,
    data_of,
    drops_remainders,
    is_endless,
    is_for_inference,
    is_never_short,
    keeps_remainder,
    last_batches,
    sources,
    takes_mean,
)
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import Constant

# Methods that give a tensor a static shape by hand.
FIXES = frozenset(["set_shape", "ensure_shape", "reshape", "assert_element_shape"])
# Functions that fill a smaller batch up.
PADS = frozenset(["pad", "concat", "concatenate"])
POSSIBLE, UNLIKELY = Certainty.POSSIBLE, Certainty.UNLIKELY


@register
class MissingDropRemainder(Rule):
    code = "TPU605"
    name = "missing-drop-remainder"
    severity = Severity.ERROR
    summary = "a batch of unknown last size feeds the TPU"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            # TPUEstimator and Keras fill up the last batch of a prediction themselves.
            if feed.kind == "predict" or _feeds_embedding(feed):
                continue
            batches = last_batches(data_of(program, feed))
            for batch in batches:
                fault = None if batch is None else _fault(program, feed, batch, batches)
                if batch is not None and fault is not None:
                    _report_batch(program, feed, batch, fault, report)


class _Fault(NamedTuple):
    """What comes of a smaller last batch, and how sure that is."""

    why: str
    certainty: Certainty


NO_STATIC_SIZE = "the batch has no static size, which TPUEstimator requires"
SET_BY_HAND = "its size is set by hand, and a smaller last batch does not have it"
NO_TABLE_SIZE = "a `TPUEmbedding` takes batches of one static size, and this one has none"
OTHER_SIZE = "the TPU program is compiled for one size, and a smaller last batch may fail"
DYNAMIC = "the batch has no static size, so the TPU compiles for sizes up to it"
NO_ROWS = (
    "a replica that gets no rows of the last batch takes the mean of nothing, NaN, unless the rows"
    " fill all batches"
)


def _fault(
    program: Program, feed: Feed, batch: ExternalObject, batches: list[ExternalObject | None]
) -> _Fault | None:
    """Return what a smaller last batch does on the TPU, None where the author expects it."""
    if not keeps_remainder(batch):
        return None
    dropping = [other for other in batches if other and keeps_remainder(other) is False]
    if isinstance(feed.owner, Strategy):
        if is_looked_up(program, feed):
            is_certain = len(batches) == 1 and not feed.context.is_guess
            return _Fault(NO_TABLE_SIZE, definite_if(is_certain))
        # On one way to the TPU the program drops it: so it knows about it.
        return None if dropping else _fault_of_strategy(program, feed, batch)
    later = _calls_behind(program, feed, batch)
    if not FIXES.isdisjoint(later):
        # The graph has a static size, which a smaller last batch does not have when it comes.
        fits = is_endless(before(batch) or UNKNOWN) or comes_out_even(batch)
        knows = bool(dropping) or has_two_ways(data_of(program, feed), batch)
        is_expected = fits or knows or not PADS.isdisjoint(later)
        return None if is_expected else _Fault(SET_BY_HAND, POSSIBLE)
    if dropping:
        begun = {id(source) for other in dropping for source in sources(other)}
        chosen = any(id(source) in begun for source in sources(batch))
        # Of one dataset the program drops the remainder where it must; of another it forgot to.
        return None if chosen or leaves_tpu(batch.context) else _Fault(NO_STATIC_SIZE, POSSIBLE)
    is_certain = all(other is not None and keeps_remainder(other) for other in batches)
    return _Fault(NO_STATIC_SIZE, definite_if(is_certain, not feed.context.is_guess))


# `if repeats: dataset = dataset.map(set_size)`: the author knows where the last batch is smaller.
def has_two_ways(data: Value, batch: ExternalObject) -> bool:
    """Return whether a way from the batch to `data` has a `map`, and another has none."""
    is_mapped = set()
    waiting, seen = [(data, False)], set[tuple[int, bool]]()
    while waiting:
        value, mapped = waiting.pop()
        if (id(value), mapped) in seen:
            continue
        seen.add((id(value), mapped))
        if value is batch:
            is_mapped.add(mapped)
        elif isinstance(value, Choice):
            waiting += [(option, mapped) for option in value.options]
        elif isinstance(value, ExternalObject) and (source := before(value)) is not None:
            waiting.append((source, mapped or value.last == "map"))
    return len(is_mapped) > 1


def _feeds_embedding(feed: Feed) -> bool:
    """Return whether sparse features go to a TPU embedding: those have no static shape."""
    if not isinstance(feed.owner, ExternalObject):
        return False
    return feed.owner.argument("embedding_config_spec") not in (None, NONE)


# tensorflow/python/tpu/tpu_embedding_v2.py: `enqueue` takes the shapes from what it gets, where
# neither `build` nor a `FeatureConfig` has given them.
def is_looked_up(program: Program, feed: Feed) -> bool:
    """Return whether a `TPUEmbedding` learns its shapes from batches of this pipeline."""
    is_told = any(
        call.argument("output_shape", 3) is not None
        for call in program.named.get("FeatureConfig", ())
    ) or any(call.arguments for call in program.named.get("build", ()))
    return not is_told and any(
        isinstance(call.receiver, ExternalObject)
        and call.receiver.last == EMBEDDING
        and any(
            tensor.of_all is not None and tensor.of_all.site == feed.site
            for tensor in all_tensors(argument.value for argument in call.arguments[:1])
        )
        for call in program.named.get("enqueue", ())
    )


def _calls_behind(program: Program, feed: Feed, batch: ExternalObject) -> set[str]:
    """Return the names of what is called behind the step that makes the batches."""
    calls = calls_of(program, feed)
    positions = [number for number, call in enumerate(calls) if call.result is batch]
    return {call.last for call in calls[positions[-1] if positions else 0 :]}


def _fault_of_strategy(program: Program, feed: Feed, batch: ExternalObject) -> _Fault | None:
    """Return what a smaller batch does to a TPUStrategy, None where the author expects it.

    Where the call says in so many words what to drop, the author wants the remainder; and most
    want all examples of an evaluation. A TPUStrategy can take a smaller batch, but for a few
    operations; it fails where it evaluates such a batch and trains on batches of one size.
    """
    settings = [
        call.argument("drop_remainder", BATCHES[batch.last])
        for call in chain(calls_of(program, feed), program.by_result.get(id(batch), ()))
        if call.result is batch
    ]
    written = [setting.node for setting in settings if setting is not None]
    endless = is_endless(before(batch) or UNKNOWN)
    if feed.kind == "evaluate":
        is_forgotten = any(isinstance(node, Constant) for node in written) and any(
            drops_some(program, other)
            for other in program.feeds
            if other.kind == "fit" and other.site is feed.site
        )
        return _Fault(OTHER_SIZE, POSSIBLE) if is_forgotten and not endless else None
    if endless:  # no batch is smaller, but the program is compiled as if one could be
        return _Fault(DYNAMIC, UNLIKELY) if feed.kind == "fit" and not written else None
    # A file that drops other remainders may have forgotten this one, also where it evaluates.
    drops_others = drops_remainders(batch.site.module)
    is_wanted = not drops_others and is_for_inference(program, feed)
    if written or is_wanted or comes_out_even(batch):
        return None
    if feed.kind == "distribute" and takes_mean(program, feed):
        return _Fault(NO_ROWS, POSSIBLE)
    return _Fault(OTHER_SIZE, POSSIBLE if drops_others else UNLIKELY)


def drops_some(program: Program, feed: Feed) -> bool:
    """Return whether a way to the TPU drops the remainder of its batches."""
    batches = last_batches(data_of(program, feed))
    return any(batch is not None and keeps_remainder(batch) is False for batch in batches)


def _is_never_short(program: Program, site: Site | None) -> bool:
    """Return whether none of the batches that this place makes can be a smaller one."""
    batches = [
        batch
        for feed in program.feeds
        for batch in last_batches(data_of(program, feed))
        if batch is not None and batch.site == site
    ]
    return all(is_never_short(batch) for batch in batches)


def _report_batch(
    program: Program, feed: Feed, batch: ExternalObject, fault: _Fault, report: Report
) -> None:
    report(
        batch.site.span,
        f"`{batch.last}` without `drop_remainder=True` feeds the TPU: {fault.why}; pass"
        " `drop_remainder=True`",
        certainty=fault.certainty,
        trace=(
            traces.step(HOST_LANE, feed.site, "takes its input from this pipeline"),
            traces.step(HOST_LANE, batch.site, "makes batches of which the last may be smaller"),
        ),
        fix=of_one_size(batch, is_never_short=_is_never_short(program, batch.site)),
        doubt=_doubt(feed, fault),
    )


def _doubt(feed: Feed, fault: _Fault) -> str:
    """Return what settles whether the last batch is a fault."""
    if fault.why == NO_STATIC_SIZE:
        return "if this pipeline feeds the TPU"
    size = "its size divides the number of rows"
    return (
        ""
        if fault.why in (NO_ROWS, NO_TABLE_SIZE, DYNAMIC)
        else f"unless {size} or the dataset is endless"
    )
