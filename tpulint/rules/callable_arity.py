"""Find callees of a cluster that cannot take the arguments they are called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tpulint.analysis.domain.events import Argument, Cluster
from tpulint.analysis.domain.values import Value, options
from tpulint.diagnostics import traces
from tpulint.finding import Certainty

# What is said of a callee and its arguments; None where they fit, or where that is not known.
Fault = Callable[[Value, tuple[Argument, ...]], str | None]


class Misfit(NamedTuple):
    """The callee's name, what is said of it, and how sure: the cluster may have several."""

    name: str
    words: str
    certainty: Certainty


def misfit_in(cluster: Cluster, fault: Fault) -> Misfit | None:
    """The first of the cluster's callees that `fault` says something of."""
    callees = options(cluster.callee)
    said = [(each, words) for each in callees if (words := fault(each, cluster.arguments))]
    if not said:
        return None
    callee, words = said[0]
    sure = len(said) == len(callees) and not cluster.context.is_guess
    certainty = Certainty.DEFINITE if sure else Certainty.POSSIBLE
    return Misfit(traces.callee_name(callee), words, certainty)
