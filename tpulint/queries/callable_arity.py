"""Find callees of a cluster that cannot take the arguments they are called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tpulint.analysis.domain.events import Argument, Cluster
from tpulint.analysis.domain.values import Value, options
from tpulint.finding import Certainty

# The reason why a callee refuses its arguments; None where they fit, or where that is not known.
ArityFault = Callable[[Value, tuple[Argument, ...]], str | None]


class Misfit(NamedTuple):
    """A callee that refuses its arguments, the reason, and the certainty: there may be several."""

    callee: Value
    reason: str
    certainty: Certainty


def misfit_in(cluster: Cluster, fault: ArityFault) -> Misfit | None:
    """Return the first of the cluster's callees for which `fault` has a reason."""
    callees = options(cluster.callee)
    found = [(each, reason) for each in callees if (reason := fault(each, cluster.arguments))]
    if not found:
        return None
    callee, reason = found[0]
    sure = len(found) == len(callees) and not cluster.context.is_guess
    certainty = Certainty.DEFINITE if sure else Certainty.POSSIBLE
    return Misfit(callee, reason, certainty)
