"""Clusters inside one another: in which mode, and under which guard."""

from __future__ import annotations

from tpulint.analysis.domain.context import (
    CLUSTER,
    COMPUTATION,
    COND,
    FUNCTION,
    GUARD,
    PLACE,
    STATE,
    WHILE,
)
from tpulint.analysis.domain.events import Cluster, Context

OPENED_BY_CALL = ("outside_compilation", "map_outside_compilation")


def after_the_step(context: Context) -> bool:
    """Return whether this is a `host_call` or `eval_metrics` function, which has no TPU context."""
    clusters = [each.payload for each in context.since(COMPUTATION) if each.kind == CLUSTER]
    return any(isinstance(each, Cluster) and each.kind not in OPENED_BY_CALL for each in clusters)


def is_graph_mode(cluster: Cluster) -> bool:
    """Return whether the cluster is built in a plain graph, where TensorFlow refuses a nested one.

    The body of a tf.function, and of a V2 conditional or loop, is a graph of its own.
    """
    computation = cluster.computation
    if computation is None or computation.mode != "graph":
        return False
    between = cluster.context.since(COMPUTATION)
    return not any(scope.kind in (FUNCTION, COND, WHILE) for scope in between)


def guards_nesting(context: Context) -> bool:
    """Return whether a test of the open contexts leads here: it may be a guard against nesting."""
    return any(key.kind == STATE for key, _ in context.conditions)


def may_be_guarded(inner: Cluster, outer: Cluster) -> bool:
    """Return whether an unknown test between the two, in a computation, may separate them.

    Where one wrapper opens both, its own test may have another answer the second time.
    """
    around = outer.context
    if inner.site == outer.site:
        assert inner.computation is not None
        around = inner.computation.context
    between = inner.context.conditions - around.conditions
    return any(key.kind in (GUARD, PLACE) for key, _ in between)
