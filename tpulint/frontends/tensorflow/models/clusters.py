"""`outside_compilation` and its kin: what is lifted out to the host."""

from __future__ import annotations

from tpulint.absint.domain.context import CLUSTER, Scope
from tpulint.absint.domain.events import Argument, Arguments, Cluster, Tensor, joined_trail
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import NONE, UNKNOWN, Opaque, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge.tf_names import SENT
from tpulint.frontends.tensorflow.models.table import Call, model


# tensorflow/python/tpu/tpu_replication.py. A project wraps these in helpers, and calls them on
# whatever it holds the module in: the name is enough.
@model("?.outside_compilation", "?.experimental_map_outside_compilation")
def outside_compilation(call: Call) -> Value:
    first = call.record.argument("computation", 0)
    callee = call.frame.session.force_load(first.value) if first is not None else UNKNOWN
    args = tuple(argument for argument in call.arguments if argument is not first)
    kind = call.name.removeprefix("experimental_")
    return open_cluster(call, kind, callee, _spread_arguments(args))


def _spread_arguments(args: Arguments) -> Arguments:
    """Return the arguments, with the first version's `args=[...]` as the positional ones."""
    spread: list[Argument] = []
    for argument in args:
        value = argument.value if argument.keyword == "args" else UNKNOWN
        if isinstance(value, Sequence) and not value.open:
            spread += calls.by_position(argument.site, *value.items)
        elif value != NONE:
            spread.append(argument)
    return tuple(spread)


def open_cluster(
    call: Call,
    kind: str,
    callee: Value,
    args: Arguments,
    waits: bool = True,
    named: Site | None = None,
) -> Value:
    """Read `callee` on the host; its tensors come back as the cluster's results.

    named: where the host function is named, if that is not the call itself.
    """
    frame = call.frame
    context = frame.context
    first = call.record.argument("computation", 0)
    naming, forwarded = call.site, first
    if first is not None:
        naming, forwarded = frame.resolve_forwarded_argument(first, call.site)
    cluster = Cluster(
        kind,
        call.site,
        named or naming,
        forwarded,
        context,
        callee,
        call.record,
        args,
        context.computation,
        context.cluster,
    )
    if not context.is_unrecorded:
        owner = context.computation
        (owner.clusters if owner else frame.session.program.orphan_clusters).append(cluster)
    with frame.within(Scope(CLUSTER, call.site, cluster)):
        for argument in args:
            _send(frame, cluster, argument)
        if not waits:
            args = tuple(argument._replace(value=_dequeue(frame, argument)) for argument in args)
        result = calls.call(frame, callee, args, call.site)
        cluster.result = result
        if result is UNKNOWN or isinstance(result, Opaque):
            result = _unseen_result(frame, cluster)
    return received(frame, cluster, result) if waits else UNKNOWN


# A host function that is not seen may hand back anything that it was sent or computed.
def _unseen_result(frame: Frame, cluster: Cluster) -> Tensor:
    """Return the result that is not seen: it may be made of anything in the cluster."""
    taken = [use.tensor for use in cluster.receives]
    result = transfer.flow(frame, taken, cluster.site, "structure")
    if result.operation is not None and cluster.computation is not None:
        operations = cluster.computation.operations
        inside = [operation for operation in operations if cluster.is_around(operation.context)]
        result.operation.unseen = True
        result.operation.sources = tuple(it for it in inside if it is not result.operation)
    return result


def _send(frame: Frame, cluster: Cluster, argument: Argument) -> None:
    """Send an argument to the host, used there or not."""
    for tensor, alternative in with_alternatives(argument.value):
        transfer.take(frame, tensor, argument.site, SENT, Certainty.DEFINITE, alternative)
    if argument.value is UNKNOWN or isinstance(argument.value, Opaque) or argument.star:
        cluster.vague = True
    if isinstance(argument.value, (Sequence, Mapping)) and argument.value.open:
        cluster.vague = True


def _dequeue(frame: Frame, argument: Argument) -> Value:
    """Return the outfeed's tensors: others than those that were sent."""

    def taken(tensor: Tensor) -> Tensor:
        other = transfer.passed_on(frame, tensor, argument.site)
        other.single = other.single or tensor.sort == "tensor"
        return other

    return transfer.each_tensor(argument.value, taken)


def received(frame: Frame, cluster: Cluster, result: Value) -> Value:
    """Return the results as the device (or an outer cluster) sees them.

    A tensor that the host function only hands back was never sent, and a variable that it gives is
    read where it is taken.
    """

    def back(tensor: Tensor) -> Value:
        # A tensor of the device that comes back unchanged never crossed to the host.
        if tensor.made is not None and not cluster.is_around(tensor.made):
            return tensor
        flags = [tensor, *(use.tensor for use in cluster.receives)]
        taken = transfer.flow(frame, flags, cluster.site, tensor.sort, tensor.operation)
        taken.trail = joined_trail(cluster, [taken.trail])
        taken.computed = True
        taken.unread = tensor.unread
        taken.result_of = cluster if tensor.unread is None else None
        return taken

    return transfer.each_tensor(result, back)
