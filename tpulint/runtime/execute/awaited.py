"""Operations that wait for others, and descriptions of the things that they wait for."""

from __future__ import annotations

from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.mark.attributes import string_attr
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import place_of_operation
from tpulint.runtime.tensorflow_internals import operations

_QUEUES = ("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueEnqueue")
_TAKES_FROM = {
    **{
        f"{name}{version}": "the queue"
        for name in (*_QUEUES, "QueueEnqueueMany")
        for version in ("", "V2")
    },
    "AccumulatorTakeGradient": "the accumulator",
    "BarrierTakeMany": "the barrier",
    "MutexLock": "the critical section",
    "ResourceAccumulatorTakeGradient": "the accumulator",
}
_STAGES = frozenset({"MapPeek", "MapUnstage", "MapUnstageNoKey", "OrderedMapUnstage", "Unstage"})
WAITING = _STAGES.union(_TAKES_FROM)
_REASON, _RULE = "_tpulint_waits", "_tpulint_waits_rule"


def explain_wait(op: Operation, reason: str, rule: str) -> None:
    """Give the reason, and the rule, of the wait in `op`, of a type in `WAITING`."""
    operations.set_attr(op, _REASON, string_attr(reason))
    operations.set_attr(op, _RULE, string_attr(rule))


def may_wait(region: Region) -> bool:
    """Return whether something in `region`, or in the bodies in it, waits for others."""
    return any(op.type in WAITING or any(map(may_wait, bodies(region, op))) for op in region.ops)


def wait_in(op: Operation, lane: str) -> Wait:
    """Return the wait of `lane` in `op`, of a type in `WAITING`."""
    attributes = op.node_def.attr
    place = place_of_operation(op)
    if _REASON in attributes:
        reason, rule = (attributes[name].s.decode() for name in (_REASON, _RULE))
        return Wait(lane, op.name, reason, place, rule)
    return Wait(lane, op.name, f"waits in {op.type} {_awaited(op)}", place)


def _awaited(op: Operation) -> str:
    does = "room in" if "Enqueue" in op.type else "something in"
    if op.type in _STAGES:
        name = op.get_attr("shared_name").decode()
        return f"for something in the staging area '{name or op.name}'"
    if op.type == "MutexLock":
        does = "its turn in"
    name = _name(op.inputs[0])
    return f"for {does} {_TAKES_FROM[op.type]}" + (f" '{name}'" if name else "")


def _name(handle: Tensor) -> str:
    """Return the name of the resource, found through the graphs that capture its handle, or ""."""
    while (graph := getattr(handle, "graph", None)) is not None:
        captures = getattr(graph, "captures", ())
        outer = [user for user, inner in captures if inner.name == handle.name]
        if not outer:
            op = handle.op
            while op.type == "Identity":
                op = op.inputs[0].op
            shared = "shared_name" in op.node_def.attr and op.get_attr("shared_name").decode()
            return str(shared or op.name)
        (handle,) = outer
    return ""
