"""`replicate` and its family: the functions that build a TPU computation."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.context import WHILE, Scope
from tpulint.analysis.domain.events import Argument, Tensor, Variable
from tpulint.analysis.domain.objects import Mapping, Sequence
from tpulint.analysis.domain.values import NONE, UNKNOWN, Choice, Const, Value, join
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.frozen_arguments import snapshot
from tpulint.analysis.models.tracing import trace
from tpulint.knowledge import seam

SHARDED = frozenset(["shard", "split_compile_and_shard", "batch_parallel", "rewrite"])

# The position of an infeed queue.
QUEUES = {
    "replicate": 2,
    "split_compile_and_replicate": 2,
    "rewrite": 2,
    "batch_parallel": 3,
    "shard": 6,
    "split_compile_and_shard": 6,
}


ANSWERED = seam.REPLICATE_FAMILY | {"while_loop", "repeat"}


def answer(this: Call) -> Value | None:
    if this.name in seam.REPLICATE_FAMILY and is_tpu_name(this):
        return _entry(this)
    if this.base == "training_loop" and this.name in ("while_loop", "repeat"):
        return _training_loop(this)
    return None


def is_tpu_name(this: Call) -> bool:
    """Return whether the name is the TPU module's: by itself, or by the module before it."""
    if this.name in seam.UNMISTAKABLE or this.base in seam.TPU_MODULES:
        return True
    return this.path.startswith("tpulint.runtime.")


def _entry(this: Call) -> Value:
    if _has_no_replica(this):
        return Sequence("list", [])
    this.record.arguments = snapshot(this.arguments)
    callee = this.get("computation", 0) or UNKNOWN
    mode = "function" if this.frame.context.traced else "graph"
    trace(this, this.name, callee, _inputs(this), mode=mode)
    return Tensor(this.frame.context, this.site, "structure")


def _has_no_replica(this: Call) -> bool:
    """Return whether the list of the replicas' inputs is empty: TensorFlow calls nothing then."""
    given = None if this.name in SHARDED else this.get("inputs", 1)
    return isinstance(given, Sequence) and not given.open and not given.items


def _inputs(this: Call) -> list[Argument] | None:
    """Return the arguments of one replica, None where their number is not known."""
    if this.get("infeed_queue", QUEUES[this.name]) not in (None, NONE):
        return None
    given = this.get("inputs", 1)
    if given is None or given == NONE:
        return []
    if this.name not in SHARDED:
        if not isinstance(given, Sequence) or not given.items:
            return None
        given = _one_replicas(this, given)
        if given == NONE:
            return []
    if isinstance(given, Tensor) and this.name in SHARDED:
        return [Argument(None, "", _sharded(given), this.site)]
    if not isinstance(given, Sequence) or given.open:
        return None
    items = [_converted(each) for each in given.items]
    if this.name in SHARDED:
        items = [_sharded(each) for each in items]
    return [Argument(None, "", each, this.site) for each in items]


def _sharded(value: Value) -> Value:
    """Return one shard of an input: equal on all replicas where all elements are equal."""
    return transfer.each_tensor(value, lambda each: replace(each, uniform=each.filled))


def _one_replicas(this: Call, inputs: Sequence) -> Value:
    """Return the first replica's inputs, of which each says whether all replicas get the same."""
    first = inputs.items[0]
    if not isinstance(first, Sequence) or first.open:
        return first
    rows = [each.items if isinstance(each, Sequence) else [] for each in inputs.items]
    depth = len(this.frame.context.scopes)
    items: list[Value] = []
    for position, item in enumerate(first.items):
        if not isinstance(item, Tensor):
            items.append(item)
            continue
        same = all(position < len(row) and row[position] is item for row in rows)
        outside = item.made is not None and len(item.made.scopes) <= depth
        repeated = position in inputs.alike or not inputs.open
        items.append(replace(item, uniform=repeated and same and outside))
    return Sequence(first.kind, items, False, first.site)


def _converted(value: Value) -> Value:
    """TensorFlow makes tensors of inputs before the computation: a variable is read out there."""
    if isinstance(value, Variable):
        return UNKNOWN
    if isinstance(value, Choice):
        return join(_converted(option) for option in value.options)
    if isinstance(value, Sequence) and not value.open:
        return Sequence(value.kind, [_converted(each) for each in value.items])
    if isinstance(value, Mapping) and not value.open:
        return Mapping({key: _converted(each) for key, each in value.items.items()})
    return value


def _training_loop(this: Call) -> Value:
    """`training_loop.repeat(n, body, inputs)` and `.while_loop(condition, body, inputs)`.

    TensorFlow makes tensors of the inputs: numbers, too.
    """
    inputs = this.get("inputs", 2)
    values = None
    if isinstance(inputs, Sequence) and not inputs.open:
        values = [_looped(this, each) for each in inputs.items]
    scope = Scope(WHILE, this.site)
    for position, keyword in ((0, "condition"), (1, "body")):
        callee = this.get(keyword, position)
        if callee is not None and not isinstance(callee, Tensor):
            args: list[Value] = [UNKNOWN] if values is None else values
            this.run_inside(scope, callee, args)
    return this.operation()


def _looped(this: Call, value: Value) -> Value:
    """Return a loop's input as its body gets it."""
    if not isinstance(value, Const):
        return value
    made = transfer.result(this.frame, [], this.site)
    made.uniform = True
    return made
