"""Conditionals and loops of TensorFlow 1: operations in one flat graph, and their conditions.

Loops are found by their control-flow contexts: every operation of a frame has the frame's.
Conditionals are found by their Switch and Merge operations alone, as in TensorFlow's own pass
(functionalize_cond.cc): gradients flow through the branches of a conditional without being in
its contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from tpulint.ordering import reachable
from tpulint.runtime.extract.copying import inputs_of
from tpulint.runtime.extract.region import (
    Operation,
    Tensor,
    skip_identities,
    sources_of,
    topological_sort,
)
from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.operations import PLUMBING

# The name of a predicate, and the value of it with which something runs.
Condition = tuple[str, int]
Conditions = frozenset[Condition]


def is_flat(ops: Iterable[Operation]) -> bool:
    """Return whether `ops` has conditionals or loops of TensorFlow 1."""
    return any(op.type in PLUMBING for op in ops)


@dataclass(frozen=True, eq=False)
class FlatNode:
    """An operation, or all operations of a loop."""

    ops: tuple[Operation, ...]
    loop: Any
    """The loop's context, or None."""

    @property
    def op(self) -> Operation:
        """The operation, or the first of the loop."""
        return self.ops[0]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(op.name for op in self.ops)

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the tensors taken from other nodes."""
        return tuple(inputs_of(self.ops).values())

    @cached_property
    def waits_for(self) -> tuple[Operation, ...]:
        """The control inputs from other nodes."""
        sources = {other.name: other for op in self.ops for other in op.control_inputs}
        return tuple(op for op in sources.values() if op.name not in self.names)

    @cached_property
    def has_effects(self) -> bool:
        """Return whether running it twice differs from running it once."""
        return any(op.op_def.is_stateful for op in self.ops)


class Level:
    """The nodes of one frame: of the computation, of a loop's test or of its body."""

    def __init__(self, ops: Sequence[Operation], context: Any) -> None:
        """Take `ops`, in the loop `context` or deeper; None is outside all loops."""
        self.nodes = tuple(_nodes(ops, context))
        self.owner = {name: node for node in self.nodes for name in node.names}
        """The node of each operation, by the operation's name."""
        self.conditions: dict[FlatNode, Conditions] = {}
        """The predicates under which each runs."""
        for node in topological_sort(self.nodes, lambda node: self._before(node, node.inputs)):
            self.conditions[node] = self._conditions(node)

    def _before(self, node: FlatNode, taken: Iterable[Tensor]) -> list[FlatNode]:
        """Return the nodes that make the tensors `taken`, and those that `node` waits for."""
        names = [*(tensor.op.name for tensor in taken), *(op.name for op in node.waits_for)]
        return [self.owner[name] for name in names if name in self.owner]

    def _conditions(self, node: FlatNode) -> Conditions:
        if is_merge(node):
            merged = [self.conditions_of(tensor) for tensor in self.live_inputs(node)]
            joined = _predicate_of_merge(*merged)
            both = frozenset.intersection(*merged)
            return frozenset(condition for condition in both if condition[0] != joined)
        if node.inputs:
            taken = [self.conditions_of(tensor) for tensor in node.inputs]
        else:  # in a branch, this waits for the operation that marks the branch
            taken = [self.conditions[other] for other in self._before(node, ())]
        return frozenset[Condition]().union(*taken)

    def sources(self, node: FlatNode) -> list[FlatNode]:
        """Return the nodes that `node` needs."""
        return self._before(node, self.live_inputs(node) if is_merge(node) else node.inputs)

    def live_inputs(self, merge: FlatNode) -> list[Tensor]:
        """Return the inputs of `merge` that have a value in some run.

        The gradient through a Switch, taken in its own branch, is merged with one of the other
        branch, which is dead: TensorFlow passes the live one on (RemoveRedundantMerge,
        functionalize_cond.cc).
        """
        inputs: list[Tensor] = list(merge.op.inputs)
        return [tensor for tensor in inputs if not is_dead(self.conditions_of(tensor))] or inputs

    @cached_property
    def users(self) -> Mapping[FlatNode, frozenset[FlatNode]]:
        """Return for each node those that need it."""
        users: dict[FlatNode, set[FlatNode]] = {}
        for node in self.nodes:
            for source in () if is_dead(self.conditions[node]) else self.sources(node):
                users.setdefault(source, set()).add(node)
        return {node: frozenset(users) for node, users in users.items()}

    def has_effects(self, node: FlatNode) -> bool:
        """Return whether `node`, or a node in the branches that it joins, has effects."""
        if not is_merge(node):
            return node.has_effects
        around = self.conditions[node]

        # Nodes in inner branches are in outer ones as well.
        def inside(user: FlatNode) -> list[FlatNode]:
            return [source for source in self.sources(user) if around < self.conditions[source]]

        return any(inner.has_effects for inner in reachable(inside(node), inside))

    def roots(self) -> list[FlatNode]:
        """Return the nodes that TensorFlow's passes keep though nothing uses their results.

        Outside conditionals these are each node with effects, loop and conditional: they become
        stateful operations, and the compiler removes none (RemoveDeadNodes, graph_optimizer.cc).
        A node in a branch that leads to no Merge is removed with its Switch
        (DeleteReachableAndDeadNodes, functionalize_cond.cc); one in a loop that leads to no
        NextIteration is not copied into its body (functionalize_while.cc).
        """
        free = [node for node in self.nodes if not self.conditions[node]]
        return [
            node for node in free if node.has_effects or node.loop or self.joined_predicate(node)
        ]

    def joined_predicate(self, node: FlatNode) -> str | None:
        """Return the predicate of the conditional whose result `node` is."""
        if not is_merge(node):
            return None
        return _predicate_of_merge(*map(self.conditions_of, self.live_inputs(node)))

    def conditions_of(self, tensor: Tensor) -> Conditions:
        """Return the predicates under which `tensor` has a value."""
        if tensor.op.name not in self.owner:
            return frozenset()
        around = self.conditions[self.owner[tensor.op.name]]
        if tensor.op.type == "Switch" and not is_loop_end(tensor.op):
            return around | {(predicate_of(tensor.op), tensor.value_index)}
        return around


def predicate_of(switch: Operation) -> str:
    """Return the name of the predicate of `switch`; a conditional has several copies of it."""
    return str(skip_identities(switch.inputs[1]).name)


def is_variable(op: Operation) -> bool:
    """Return whether `op` is the Merge that begins an iteration with a loop's variable."""
    return op.type == "Merge" and any(tensor.op.type == "NextIteration" for tensor in op.inputs)


def is_loop_end(op: Operation) -> bool:
    """Return whether `op` is the Switch that ends a loop."""
    return bool(op.type == "Switch" and op.inputs[1].op.type == "LoopCond")


def loops_around(op: Operation) -> Iterator[Any]:
    """Return the loops around `op`, innermost first."""
    around = graphs.contexts_outwards(graphs.context_of(op))
    return (context for context in around if context.IsWhileContext())


def _nodes(ops: Sequence[Operation], context: Any) -> Iterator[FlatNode]:
    """Return the nodes of `ops` in program order: a loop has the place of its first operation."""
    together: dict[Any, list[Operation]] = {}
    for op in ops:
        inner = None
        for loop in loops_around(op):
            if loop is context:
                break
            inner = loop
        together.setdefault(op.name if inner is None else inner, []).append(op)
    for key, own in together.items():
        yield FlatNode(tuple(own), None if isinstance(key, str) else key)


def is_dead(conditions: Conditions) -> bool:
    """Return whether they never hold together: they need both values of a predicate."""
    return any((name, 1 - value) in conditions for name, value in conditions)


def is_merge(node: FlatNode) -> bool:
    """Return whether `node` is the Merge of a conditional."""
    return node.loop is None and node.op.type == "Merge"


def _predicate_of_merge(*taken: Conditions) -> str | None:
    """Return the predicate of which the two inputs need opposite values."""
    if len(taken) != 2:
        return None
    first, other = taken
    return min((name for name, value in first if (name, 1 - value) in other), default=None)


def reached_operations(
    ops: Sequence[Operation], outputs: Iterable[Operation]
) -> tuple[Operation, ...]:
    """Return the operations of a whole computation's `ops` that TensorFlow runs for `outputs`."""
    plumbing = _plumbing(ops)
    inside = {op.name for op in ops}
    roots = [
        op
        for node in Level(ops, None).roots()
        for op in (node.ops if node.loop is None else plumbing[node.loop])
    ]

    def needs(op: Operation) -> Iterator[Operation]:
        if op.name in inside:
            yield from sources_of(op)
            for loop in loops_around(op):
                yield from plumbing[loop]

    reached = {op.name for op in reachable([*outputs, *roots], needs, attrgetter("name"))}
    return tuple(op for op in ops if op.name in reached)


def _plumbing(ops: Iterable[Operation]) -> dict[Any, list[Operation]]:
    """Return for each loop the operations that drive it: all its variables, used or not."""
    plumbing: dict[Any, list[Operation]] = {}
    for op in ops:
        for loop in loops_around(op):
            plumbing.setdefault(loop, [])
        own = next(loops_around(op), None)
        if own is not None and (op.type in ("NextIteration", "LoopCond") or is_variable(op)):
            plumbing[own].append(op)
            plumbing[own] += [user for user in op.outputs[0].consumers() if is_loop_end(user)]
    return plumbing
