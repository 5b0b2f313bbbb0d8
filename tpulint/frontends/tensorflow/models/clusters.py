"""`outside_compilation` and its kin: what is lifted out to the host."""

from __future__ import annotations

from tpulint.absint.domain.context import CLUSTER, Scope
from tpulint.absint.domain.events import Argument, Cluster, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import distinguished
from tpulint.absint.domain.values import NONE, UNKNOWN, Opaque, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge.seam import SENT
from tpulint.frontends.tensorflow.models.call import Call
from tpulint.frontends.tensorflow.models.table import model


@model("?.outside_compilation", "?.experimental_map_outside_compilation")
def outside_compilation(call: Call) -> Value:
    first = call.record.argument("computation", 0)
    callee = call.frame.session.read_after_all(first.value) if first is not None else UNKNOWN
    args = tuple(each for each in call.arguments if each is not first)
    kind = call.name.removeprefix("experimental_")
    return open_cluster(call, kind, callee, _spread(args))


def _spread(args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the arguments, with the first version's `args=[...]` as the positional ones."""
    found: list[Argument] = []
    for each in args:
        known = isinstance(each.value, Sequence) and not each.value.open
        if each.keyword == "args" and known:
            assert isinstance(each.value, Sequence)
            found += [Argument(None, "", item, each.site) for item in each.value.items]
        elif not (each.keyword == "args" and each.value == NONE):
            found.append(each)
    return tuple(found)


def open_cluster(
    call: Call,
    kind: str,
    callee: Value,
    args: tuple[Argument, ...],
    waits: bool = True,
    named: Site | None = None,
) -> Value:
    """Read `callee` on the host; its tensors come back as the cluster's results.

    named: where the host function is named, if that is not the call itself.
    """
    frame = call.frame
    context = frame.context
    first = call.record.argument("computation", 0)
    naming, given = frame.naming(first, call.site) if first is not None else (call.site, None)
    cluster = Cluster(
        kind,
        call.site,
        named or naming,
        given,
        context,
        callee,
        call.record,
        args,
        context.computation,
        context.cluster,
    )
    if not context.muted:
        owner = context.computation
        (owner.clusters if owner else frame.session.program.orphan_clusters).append(cluster)
    with frame.within(Scope(CLUSTER, call.site, cluster)):
        for each in args:
            _send(frame, cluster, each)
        if not waits:
            args = tuple(each._replace(value=_dequeued(frame, each)) for each in args)
        made = calls.call(frame, callee, args, call.site)
        cluster.result = made
        if made is UNKNOWN or isinstance(made, Opaque):
            made = _unseen_result(frame, cluster)
    if not waits:
        return UNKNOWN
    return received(frame, cluster, made)


def _unseen_result(frame: Frame, cluster: Cluster) -> Tensor:
    """Return the result that is not seen: it may be made of anything in the cluster."""
    taken = [use.tensor for use in cluster.receives]
    made = transfer.flow(frame, taken, cluster.site, "structure")
    if made.operation is not None and cluster.computation is not None:
        known = cluster.computation.operations
        inside = [each for each in known if cluster.is_around(each.context)]
        made.operation.unseen = True
        made.operation.sources = tuple(each for each in inside if each is not made.operation)
    return made


def _send(frame: Frame, cluster: Cluster, each: Argument) -> None:
    """Send an argument to the host, used there or not."""
    for tensor, alternative in distinguished(each.value):
        transfer.take(frame, tensor, each.site, SENT, Certainty.DEFINITE, alternative)
    if each.value is UNKNOWN or isinstance(each.value, Opaque) or each.star:
        cluster.vague = True
    if isinstance(each.value, (Sequence, Mapping)) and each.value.open:
        cluster.vague = True


def _dequeued(frame: Frame, each: Argument) -> Value:
    """Return the outfeed's tensors: others than those that were sent."""
    return transfer.each_tensor(
        each.value, lambda tensor: transfer.passed_on(frame, tensor, each.site)
    )


def received(frame: Frame, cluster: Cluster, made: Value) -> Value:
    """Return the results as the device (or an outer cluster) sees them.

    A tensor that the host function only hands back was never sent, and a variable that it gives is
    read where it is taken.
    """

    def back(tensor: Tensor) -> Value:
        if tensor.made is not None and not cluster.is_around(tensor.made):
            return tensor
        flags = [tensor, *(use.tensor for use in cluster.receives)]
        found = transfer.flow(frame, flags, cluster.site, tensor.sort, tensor.operation)
        found.clusters = found.clusters | {cluster}
        found.computed = True
        found.unread = tensor.unread
        found.result_of = cluster if tensor.unread is None else None
        return found

    return transfer.each_tensor(made, back)
