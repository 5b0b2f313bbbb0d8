"""Host clusters: what they are given to run, whether it takes its arguments, how they nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tpulint.absint.domain.context import (
    CLUSTER,
    COMPUTATION,
    COND,
    FUNCTION,
    GUARD,
    PLACE,
    STATE,
    WHILE,
)
from tpulint.absint.domain.events import Argument, Cluster, Computation, Context, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Const, Value, options
from tpulint.syntax.nodes import CallNode

OPENED_BY_CALL = ("outside_compilation", "map_outside_compilation")


def is_after_step(context: Context) -> bool:
    """Return whether this is a `host_call` or `eval_metrics` function, which has no TPU context."""
    clusters = [scope.payload for scope in context.since(COMPUTATION) if scope.kind == CLUSTER]
    return any(
        isinstance(cluster, Cluster) and cluster.kind not in OPENED_BY_CALL for cluster in clusters
    )


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
    # The tests inside the outer function are the ones that may keep the inner call away.
    around = outer.context
    if inner.site == outer.site:
        assert inner.computation is not None
        around = inner.computation.context
    between = inner.context.conditions - around.conditions
    return any(key.kind in (GUARD, PLACE) for key, _ in between)


def called_in_place(cluster: Cluster) -> Argument | None:
    """Return the call whose result a host cluster is given as its function, if there is one."""
    function = cluster.given
    if cluster.kind not in OPENED_BY_CALL or function is None:
        return None
    if not isinstance(function.node, CallNode):
        return None
    return function if all(map(_is_no_function, options(function.value))) else None


def calls_in_place(computation: Computation) -> set[Site]:
    """Return the calls in a computation that are meant for the host."""
    return {call.site for cluster in computation.clusters if (call := called_in_place(cluster))}


def _is_no_function(value: Value) -> bool:
    """Return whether this certainly cannot be called."""
    if isinstance(value, Tensor):
        return value.sort in ("tensor", "operation")
    return isinstance(value, (Const, Sequence, Mapping))


# The reason why a callee refuses its arguments; None where they fit, or where that is not known.
ArityFault = Callable[[Value, tuple[Argument, ...]], str | None]


class ArityMismatch(NamedTuple):
    """A callee that refuses its arguments, with the reason. is_certain: no other may be called."""

    callee: Value
    reason: str
    is_certain: bool


def arity_mismatch(cluster: Cluster, fault: ArityFault) -> ArityMismatch | None:
    """Return the first of the cluster's callees for which `fault` has a reason."""
    callees = options(cluster.callee)
    misfits = [
        (option, reason) for option in callees if (reason := fault(option, cluster.arguments))
    ]
    if not misfits:
        return None
    callee, reason = misfits[0]
    is_certain = len(misfits) == len(callees) and not cluster.context.is_guess
    return ArityMismatch(callee, reason, is_certain)
