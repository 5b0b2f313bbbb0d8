"""Operations that wait for others, and descriptions of the things that they wait for."""

from __future__ import annotations

from tpulint.runtime.extract.region import Operation, Tensor

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


def awaited(op: Operation) -> str:
    """Describe the thing that `op`, of a type in `WAITING`, waits for."""
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
