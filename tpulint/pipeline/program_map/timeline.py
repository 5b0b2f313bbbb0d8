"""The events of a computation in program order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.events import Access, ApiCall, Cluster, Computation, Context, Operation
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors


@dataclass(frozen=True, eq=False)
class TimelineEvent:
    """An operation, a call, an access or a cluster.

    number: its place in program order. rank: that among what has the same number.
    """

    number: int
    rank: int
    context: Context
    site: Site | None
    what: Operation | ApiCall | Access | Cluster


def timeline(computation: Computation) -> list[TimelineEvent]:
    """Return the events in order.

    A call that builds nothing comes before what is built next. A call is recorded before the calls
    that it makes, so what comes next has the least number of all that are recorded later.
    """
    operations = computation.operations
    found = [TimelineEvent(each.number, 1, each.context, None, each) for each in operations]
    found += _accesses(computation)
    firsts = _firsts(computation)
    opened = {id(each.call): each for each in computation.clusters}
    after = end = operations[-1].number + 1 if operations else 0
    for call in reversed(computation.calls):
        cluster = opened.pop(id(call), None)
        number = firsts.get(id(cluster)) if cluster is not None else None
        rank = 1 if cluster is None else 2 if number is None else 0
        number = own_number(call) if number is None else number
        after = after if number is None else min(after, number)
        number = after if number is None else number
        what = call if cluster is None else cluster
        found.append(TimelineEvent(number, rank, call.context, call.site, what))
    for cluster in opened.values():  # its call is recorded elsewhere, as that of an estimator is
        number = firsts.get(id(cluster), end)
        found.append(TimelineEvent(number, 0, cluster.context, cluster.site, cluster))
    return sorted(found, key=lambda each: (each.number, each.rank))


def _firsts(computation: Computation) -> dict[int, int]:
    """Return the number of the first operation in each cluster, by the cluster's identity."""
    found: dict[int, int] = {}
    for operation in computation.operations:
        for scope in operation.context.scopes:
            if isinstance(scope.payload, Cluster):
                found.setdefault(id(scope.payload), operation.number)
    return found


def _accesses(computation: Computation) -> Iterator[TimelineEvent]:
    last = 0
    for each in computation.accesses:
        last = each.operation.number if each.operation is not None else last
        yield TimelineEvent(last, 1, each.context, each.site, each)


def own_number(call: ApiCall) -> int | None:
    """Return the number of the operation that the call builds."""
    for tensor in tensors(call.result):
        if tensor.operation is not None and tensor.made is not None:
            same = tensor.made.call_chain == call.context.call_chain
            return tensor.operation.number if same else None
    return None
