"""Conditionals and loops of TensorFlow 1, made anew as those of TensorFlow 2.

The old ones are Switch, Merge, Enter, Exit and NextIteration operations in one flat graph, held
together by control-flow contexts. Here each becomes one operation with graphs inside, in a copy of
the region; all that follows knows only that kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.extract.copying import copy
from tpulint.runtime.extract.region import (
    Operation,
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    needed,
)

PLUMBING = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})


def is_flat(region: Region) -> bool:
    """Whether `region` has conditionals or loops of TensorFlow 1."""
    return any(op.type in PLUMBING for op in region.ops)


def functionalized(region: Region) -> Region:
    """`region` with conditionals and loops of TensorFlow 2, in a graph of its own."""
    tensors = {
        tensor.name: tensor
        for op in region.ops
        for tensor in op.inputs
        if tensor.name in region.inputs
    }
    tensors |= {out.name: out for out in region.outputs if out.name in region.inputs}
    graph = tensorflow_internals.plain_function_graph("functionalized")
    with graph.as_default(), tensorflow_internals.control_flow_v2():
        given = {name: _parameter(tensors[name]) for name in region.inputs}
        level = _Level(region, None, dict(given))
        level.build(region.ops)
        outputs = tuple(level.tensors[out.name] for out in region.outputs)
    own = {op.name: op for op in graph.get_operations()}
    for tensor in given.values():
        del own[tensor.op.name]
    names = {tensor.name: name for name, tensor in given.items()}
    return Region(
        graph=graph,
        ops=in_program_order(graph, own),
        inputs=tuple(names),
        outputs=outputs,
        nodes=graph_nodes(graph),
    )


def _parameter(tensor: Tensor) -> Tensor:
    made = tf.compat.v1.placeholder(tensor.dtype.base_dtype, tensor.shape)
    tensorflow_internals.copy_handle_data(tensor, made)
    return made


@dataclass(frozen=True)
class _Loop:
    """Identity of a loop: its context's name."""

    name: str


@dataclass(frozen=True)
class _Cond:
    """Identity of a conditional: the name of its predicate."""

    predicate: str


def _identity(context: Any) -> _Loop | _Cond:
    if tensorflow_internals.is_while(context):
        return _Loop(context.name)
    return _Cond(context.pred.name)


@dataclass(frozen=True, eq=False)
class _Unit:
    """Operations that are made anew together: a plain one, or all of a conditional or a loop."""

    ops: tuple[Operation, ...]
    inner: _Loop | _Cond | None

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(op.name for op in self.ops)

    @cached_property
    def needs(self) -> frozenset[str]:
        return frozenset(
            source.name
            for op in self.ops
            for source in [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        )


@dataclass(frozen=True, eq=False)
class _LoopParts:
    """The operations of a loop, apart: loop variables in order, the test, the body."""

    context: Any
    constants: list[Operation]
    merges: list[Operation]
    switches: list[Operation]
    initial_values: list[Tensor]
    next_values: list[Tensor]
    predicate: Tensor
    test: list[Operation]
    body: list[Operation]

    @staticmethod
    def of(ops: Sequence[Operation], context: Any) -> _LoopParts:
        """The parts of the loop `context`, of which `ops` are all operations."""
        own = [op for op in ops if tensorflow_internals.context_of(op) is context]
        merges = [op for op in own if op.type == "Merge" and _is_loops(op)]
        (loop_cond,) = [op for op in own if op.type == "LoopCond"]
        switches = [
            next(user for user in merge.outputs[0].consumers() if _splits(user, loop_cond))
            for merge in merges
        ]
        plumbing = {op.name for op in own if op.type in PLUMBING - {"Switch", "Merge"}}
        plumbing |= {op.name for op in (*merges, *switches)}
        inside = {op.name for op in ops} - plumbing
        test = needed([loop_cond.inputs[0].op], lambda op: op.name in inside)
        return _LoopParts(
            context=context,
            constants=[op for op in own if op.type == "Enter" and op.get_attr("is_constant")],
            merges=merges,
            switches=switches,
            initial_values=[merge.inputs[0].op.inputs[0] for merge in merges],
            next_values=[merge.inputs[1].op.inputs[0] for merge in merges],
            predicate=loop_cond.inputs[0],
            test=[op for op in ops if op.name in test],
            body=[op for op in ops if op.name not in test and op.name not in plumbing],
        )


def _is_loops(merge: Operation) -> bool:
    return any(tensor.op.type == "NextIteration" for tensor in merge.inputs)


def _splits(op: Operation, loop_cond: Operation) -> bool:
    return op.type == "Switch" and op.inputs[1].op is loop_cond


def _is_pivot(op: Operation) -> bool:
    """Whether `op` only marks a branch of a conditional: its name is TensorFlow's own."""
    name: str = op.name.rpartition("/")[2]
    return bool(op.type == "Identity") and name.startswith(("switch_t", "switch_f"))


@dataclass(eq=False)
class _Level:
    """The operations of one context, and where what they take stands in the new graph."""

    region: Region
    context: Any
    tensors: dict[str, Tensor]
    done: dict[str, list[Operation]] = field(default_factory=dict)
    """For an operation that has been made anew: what runs when it has run."""

    def build(self, ops: Sequence[Operation]) -> None:
        """Make `ops` anew, those of inner contexts as one conditional or loop each."""
        units = self._units(ops)
        rest = list(units)
        while rest:
            made = {name for unit in units if unit not in rest for name in unit.names}
            open_names = {name for unit in rest for name in unit.names}
            ready = [unit for unit in rest if not unit.needs & open_names - unit.names]
            plain = [unit for unit in ready if unit.inner is None]
            if not ready:
                raise AssertionError(f"cyclic order among {sorted(open_names - made)[:5]}")
            if plain:
                self._copy_plain([op for unit in plain for op in unit.ops])
            else:
                self._make(ready[0])
                plain = ready[:1]
            rest = [unit for unit in rest if unit not in plain]

    def _units(self, ops: Sequence[Operation]) -> list[_Unit]:
        inner: dict[Any, list[Operation]] = {}
        plain: list[Operation] = []
        for op in ops:
            child = self._child(op)
            if child is not None:
                inner.setdefault(_identity(child), []).append(op)
            elif op.type != "Merge" and not _is_pivot(op):
                plain.append(op)
            elif op.type == "Merge":
                child = self._child(op.inputs[0].op) or self._child(op.inputs[1].op)
                switch = next((one.op for one in op.inputs if one.op.type == "Switch"), None)
                if child is not None:
                    inner.setdefault(_identity(child), []).append(op)
                elif switch is not None:
                    inner.setdefault(_Cond(switch.inputs[1].name), []).append(op)
                else:
                    plain.append(op)
        return [_Unit((op,), None) for op in plain] + [
            _Unit(tuple(found), identity) for identity, found in inner.items()
        ]

    def _child(self, op: Operation) -> Any:
        """The conditional's branch or the loop of this level that `op` stands in, however deep."""
        child = None
        for context in tensorflow_internals.contexts_outwards(tensorflow_internals.context_of(op)):
            if context is self.context:
                return child
            if tensorflow_internals.is_cond_or_while(context):
                child = context
        return child if self.context is None else None

    def _waits_for(self, ops: Sequence[Operation]) -> list[Operation]:
        own = {op.name for op in ops}
        earlier = [other.name for op in ops for other in op.control_inputs if other.name not in own]
        return [made for name in earlier for made in self.done.get(name, ())]

    def _copy_plain(self, ops: Sequence[Operation]) -> None:
        switches = [op for op in ops if op.type == "Switch"]
        for op in switches:  # here, only the taken branch is there: it has what is switched
            value = self.image(op.inputs[0].name)
            self.tensors.update({output.name: value for output in op.outputs})
        for op in ops:
            if op.type == "Merge":  # a gradient's, of a value of this very branch
                alive = op.inputs[self.context.branch]
                self.tensors[op.outputs[0].name] = self.image(alive.name)
        copied = [op for op in ops if op.type not in ("Switch", "Merge")]
        if copied:
            self._copy(copied)

    def _copy(self, ops: Sequence[Operation]) -> None:
        own = frozenset(op.name for op in ops)
        before = {op.name: frozenset(other.name for other in op.control_inputs) & own for op in ops}
        copied = copy(self.region, ops, self.image, before, with_marks=True)
        for op in ops:
            image = copied.operations[op.name]
            tensorflow_internals.stands_for(image, op)
            waits_for = self._waits_for([op])
            if waits_for:
                tensorflow_internals.add_control_inputs(image, waits_for)
            self.done[op.name] = [image]
        self.tensors.update(copied.tensors)

    def image(self, name: str) -> Tensor:
        """The tensor `name` of the region, in the graph that is being built."""
        return tensorflow_internals.captured_here(self.tensors[name])

    def _make(self, unit: _Unit) -> None:
        with tf.control_dependencies(self._waits_for(unit.ops)):
            if isinstance(unit.inner, _Cond):
                results = self._conditional(unit, unit.inner.predicate)
            else:
                results = self._loop(unit)
        self.tensors.update(results)
        runs = list({tensor.op.name: tensor.op for tensor in results.values()}.values())
        self.done.update(dict.fromkeys(unit.names, runs))

    def _conditional(self, unit: _Unit, predicate_name: str) -> dict[str, Tensor]:
        merges = [op for op in unit.ops if op.type == "Merge" and self._child(op) is None]
        inside = [op for op in unit.ops if self._child(op) is not None]

        def branch(number: int) -> list[Tensor]:
            mine = [op for op in inside if self._child(op).branch == number]
            context = self._child(mine[0]) if mine else None
            level = _Level(self.region, context, dict(self.tensors))
            level.build(mine)
            return [
                tf.identity(level.image(self._of_branch(merge, number).name)) for merge in merges
            ]

        predicate = self.image(predicate_name)
        results = tf.cond(predicate, lambda: branch(1), lambda: branch(0))
        return {
            merge.outputs[0].name: result for merge, result in zip(merges, results, strict=True)
        }

    def _of_branch(self, merge: Operation, number: int) -> Tensor:
        """What `merge` takes from a branch: a gradient's does not have them in order."""
        for tensor in merge.inputs:
            child = self._child(tensor.op)
            if child is not None and child.branch == number:
                return tensor
            if child is None and tensor.op.type == "Switch" and tensor.value_index == number:
                return tensor
        return merge.inputs[number]

    def _loop(self, unit: _Unit) -> dict[str, Tensor]:
        loop = _LoopParts.of(unit.ops, self._child(unit.ops[0]))
        outer = dict(self.tensors)
        outer |= {op.outputs[0].name: self.tensors[op.inputs[0].name] for op in loop.constants}

        def level(variables: Sequence[Tensor]) -> _Level:
            here = _Level(self.region, loop.context, dict(outer))
            for merge, switch, variable in zip(loop.merges, loop.switches, variables, strict=True):
                variable.set_shape(merge.outputs[0].shape)
                here.tensors[merge.outputs[0].name] = variable
                here.tensors[merge.outputs[1].name] = variable
                here.tensors[switch.outputs[1].name] = variable
            return here

        def goes_on(*variables: Tensor) -> Tensor:
            here = level(variables)
            here.build(loop.test)
            return here.image(loop.predicate.name)

        def body(*variables: Tensor) -> list[Tensor]:
            here = level(variables)
            here.build(loop.body)
            return [tf.identity(here.image(tensor.name)) for tensor in loop.next_values]

        results = tf.while_loop(
            goes_on,
            body,
            [self.image(tensor.name) for tensor in loop.initial_values],
            shape_invariants=[tf.TensorShape(None)] * len(loop.merges),
            parallel_iterations=1,
        )
        return {
            switch.outputs[0].consumers()[0].outputs[0].name: result
            for switch, result in zip(loop.switches, results, strict=True)
            if switch.outputs[0].consumers()
        }
