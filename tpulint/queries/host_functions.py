"""Host functions that are called on the device, where they should be passed."""

from __future__ import annotations

from tpulint.analysis.domain.events import Argument, Cluster, Computation, Tensor
from tpulint.analysis.domain.objects import Mapping, Sequence
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Const, Value, options
from tpulint.queries.nesting import OPENED_BY_CALL
from tpulint.syntax.expression_nodes import CallNode


def called_in_place(cluster: Cluster) -> Argument | None:
    """Return the call whose result a host cluster is given as its function, if there is one."""
    given = cluster.given
    if cluster.kind not in OPENED_BY_CALL or given is None:
        return None
    if not isinstance(given.node, CallNode):
        return None
    return given if all(map(_is_no_function, options(given.value))) else None


def calls_in_place(computation: Computation) -> set[Site]:
    """Return the calls in a computation that are meant for the host."""
    return {call.site for each in computation.clusters if (call := called_in_place(each))}


def _is_no_function(value: Value) -> bool:
    """Return whether this certainly cannot be called."""
    if isinstance(value, Tensor):
        return value.sort in ("tensor", "operation")
    return isinstance(value, (Const, Sequence, Mapping))
