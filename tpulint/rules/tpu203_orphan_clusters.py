"""Host clusters that no TPU computation is around."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.context import CONTEXT, DATA, UNSEEN_CALLER, Where
from tpulint.analysis.domain.program import Cluster, Program
from tpulint.analysis.models.strategies import NOT_A_TPUS


def places(program: Program) -> Iterator[tuple[Cluster, str]]:
    """Clusters that certainly do nothing, with where that is.

    A call that some caller brings into a computation is in its place, and what only a
    caller that is not seen reaches may be.
    """
    inside = {cluster.site for cluster in program.clusters()}
    for cluster in program.loose_clusters:
        if cluster.site in inside or cluster.parent is not None or cluster.where.is_guess:
            continue
        found = _place(cluster.where)
        if found is not None:
            yield cluster, found


def _place(where: Where) -> str | None:
    kinds = {layer.kind for layer in where.layers}
    if DATA in kinds:
        return "in a function of an input pipeline"
    if any(layer.kind == CONTEXT and layer.payload[0] == NOT_A_TPUS for layer in where.layers):
        return "in a step of a strategy that is no TPU's"
    if UNSEEN_CALLER in kinds:
        return None
    return "here" if where.frames else "at module level"
