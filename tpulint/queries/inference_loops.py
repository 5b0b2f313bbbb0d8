"""Loops of one's own over batches of a TPUStrategy: whether they train."""

from __future__ import annotations

from tpulint.analysis.domain.events import Computation, Context
from tpulint.analysis.domain.program import Feed, Program
from tpulint.knowledge import naming, seam


def is_for_inference(program: Program, feed: Feed) -> bool:
    """Return whether batches are handed out in a function whose steps train nothing.

    These are the steps that are run nearest to where the batches are handed out: in the same
    function, or in those that it calls, or that call it.
    """
    if feed.kind != "distribute":
        return False
    runs = [
        each
        for each in program.computations
        if each.kind in seam.STRATEGY_RUN and each.context.run == feed.context.run
    ]
    shared = [_shared(each.context, feed.context) for each in runs]
    nearest = [each for each, count in zip(runs, shared, strict=True) if count == max(shared)]
    return bool(nearest) and not any(map(_trains, nearest))


def _shared(one: Context, other: Context) -> int:
    """Return the number of calls that lead to both."""
    count = 0
    for first, second in zip(one.call_chain, other.call_chain, strict=False):
        if first != second:
            break
        count += 1
    return count


def _trains(step: Computation) -> bool:
    return bool(step.updates) or any(naming.TRAINS.is_in(call.last) for call in step.calls)
