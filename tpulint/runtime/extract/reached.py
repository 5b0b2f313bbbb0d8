"""The operations that TensorFlow runs of a computation with TensorFlow 1 control flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tpulint.runtime.extract.flat import FlatNode, Level, is_variable, loops_around, splits
from tpulint.runtime.extract.region import Operation, sources_of


def reached(ops: Sequence[Operation], outputs: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the operations of a whole computation's `ops` that TensorFlow runs for `outputs`."""
    level = Level.of(ops, None)
    plumbing = _plumbing(ops)
    inside = {op.name for op in ops}
    unread = [*outputs, *(op for node in level.roots() for op in _entry(node, plumbing))]
    found: set[str] = set()
    while unread:
        op = unread.pop()
        if op.name in inside and op.name not in found:
            found.add(op.name)
            unread += sources_of(op)
            for loop in loops_around(op):
                unread += plumbing[loop]
    return tuple(op for op in ops if op.name in found)


def _entry(node: FlatNode, plumbing: Mapping[Any, Sequence[Operation]]) -> Iterable[Operation]:
    return node.ops if node.loop is None else plumbing[node.loop]


def _plumbing(ops: Iterable[Operation]) -> dict[Any, list[Operation]]:
    """Return for each loop the operations that drive it: all its variables, used or not."""
    found: dict[Any, list[Operation]] = {}
    for op in ops:
        for loop in loops_around(op):
            found.setdefault(loop, [])
        own = next(loops_around(op), None)
        if own is not None and (op.type in ("NextIteration", "LoopCond") or is_variable(op)):
            found[own].append(op)
            found[own] += [user for user in op.outputs[0].consumers() if splits(user)]
    return found
