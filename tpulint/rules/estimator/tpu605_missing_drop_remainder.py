"""TPU605: a batch of unknown last size feeds the TPU."""

from __future__ import annotations

from itertools import chain

from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, UNKNOWN
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import of_one_size
from tpulint.finding import HOST_LANE, Applicability, Severity
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
    keeps_remainder,
    last_batches,
)
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import Constant

# Methods that give a tensor a static shape by hand.
FIXES = frozenset(["set_shape", "ensure_shape", "reshape", "assert_element_shape"])


@register
class MissingDropRemainder(Rule):
    code = "TPU605"
    name = "missing-drop-remainder"
    severity = Severity.ERROR
    summary = "a batch of unknown last size feeds the TPU"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            # TPUEstimator and Keras fill up the last batch of a prediction themselves.
            if feed.kind == "predict" or _feeds_embedding(feed):
                continue
            batches = last_batches(data_of(program, feed))
            keeps = [None if batch is None else keeps_remainder(batch) for batch in batches]
            if False in keeps:
                continue  # on one way to the TPU the program drops it: so it knows about it
            is_certain = all(keeps) and not feed.context.is_guess
            for batch in batches:
                if batch is not None and is_partial_batch_unexpected(program, feed, batch):
                    _report_batch(feed, batch, is_certain, report)


def is_partial_batch_unexpected(program: Program, feed: Feed, batch: ExternalObject) -> bool:
    """Return whether a smaller last batch reaches the TPU, where the author expects none."""
    if not keeps_remainder(batch):
        return False
    if isinstance(feed.owner, Strategy):
        return _is_unexpected_by_strategy(program, feed, batch)
    return not _has_fixed_shape(program, feed, batch)


def _feeds_embedding(feed: Feed) -> bool:
    """Return whether sparse features go to a TPU embedding: those have no static shape."""
    if not isinstance(feed.owner, ExternalObject):
        return False
    return feed.owner.argument("embedding_config_spec") not in (None, NONE)


def _has_fixed_shape(program: Program, feed: Feed, batch: ExternalObject) -> bool:
    """Return whether batches get a static shape by hand: behind the step that makes them."""
    calls = calls_of(program, feed)
    positions = [number for number, call in enumerate(calls) if call.result is batch]
    return any(call.last in FIXES for call in calls[positions[-1] if positions else 0 :])


def _is_unexpected_by_strategy(program: Program, feed: Feed, batch: ExternalObject) -> bool:
    """Return whether a smaller batch may surprise the author, and a TPUStrategy.

    Where the call says in so many words what to drop, the author wants the remainder; and most
    want all examples of an evaluation. A TPUStrategy can take a smaller batch, but for a few
    operations; it fails where it evaluates such a batch and trains on batches of one size.
    """
    if is_endless(before(batch) or UNKNOWN):
        return False
    settings = [
        call.argument("drop_remainder", BATCHES[batch.last])
        for call in chain(calls_of(program, feed), program.by_result.get(id(batch), ()))
        if call.result is batch
    ]
    written = [setting.node for setting in settings if setting is not None]
    if feed.kind != "evaluate":
        # A file that drops other remainders may have forgotten this one, also where it evaluates.
        is_wanted = not drops_remainders(batch.site.module) and is_for_inference(program, feed)
        return not written and not is_wanted and not comes_out_even(batch)
    return any(isinstance(node, Constant) for node in written) and any(
        drops_some(program, other)
        for other in program.feeds
        if other.kind == "fit" and other.site is feed.site
    )


def drops_some(program: Program, feed: Feed) -> bool:
    """Return whether a way to the TPU drops the remainder of its batches."""
    batches = last_batches(data_of(program, feed))
    return any(batch is not None and keeps_remainder(batch) is False for batch in batches)


def _report_batch(feed: Feed, batch: ExternalObject, is_certain: bool, report: Report) -> None:
    if isinstance(feed.owner, Strategy):
        is_certain = False  # today's TPUStrategy compiles some programs with a bounded dimension
        why = "the TPU program is compiled for one size, and a smaller last batch may fail"
    else:
        why = "the batch has no static size, which TPUEstimator requires"
    report(
        batch.site.span,
        f"`{batch.last}` without `drop_remainder=True` feeds the TPU: {why}",
        certainty=definite_if(is_certain),
        trace=(
            traces.step(HOST_LANE, feed.site, "takes its input from this pipeline"),
            traces.step(HOST_LANE, batch.site, "makes batches of which the last may be smaller"),
        ),
        fix=of_one_size(batch),
    )
