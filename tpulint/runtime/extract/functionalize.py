"""Conditionals and loops of TensorFlow 1, rebuilt as those of TensorFlow 2.

The old ones are Switch, Merge, Enter, Exit and NextIteration operations in one flat graph. Here
each becomes one operation with graphs inside, in a copy of the region; all that follows knows only
that kind.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.branches import ConditionalNodes, Group, groups
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.flat import (
    PLUMBING,
    Conditions,
    FlatNode,
    Level,
    is_loop_end,
    is_merge,
    is_variable,
)
from tpulint.runtime.extract.order import (
    UnorderedAccesses,
    argument_names,
    find_unordered,
    numbered_arguments,
    order_accesses,
)
from tpulint.runtime.extract.region import (
    Operation,
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    needed_operations,
)
from tpulint.runtime.tensorflow_internals import graphs, operations


@dataclass(frozen=True, eq=False)
class Loop:
    """The operations of a loop, apart: loop variables in order, the test, the body."""

    context: Any
    constants: list[Operation]
    merges: list[Operation]
    switches: list[Operation]
    entering: list[Tensor]
    """The results of the Enter operations for the loop variables."""
    next_values: list[Tensor]
    awaited: list[Operation]
    """The operations that an iteration waits for without using their results."""
    name: str
    """The name that TensorFlow gives its rebuilt loop (functionalize_while.cc)."""
    predicate: Tensor
    test: list[Operation]
    body: list[Operation]

    @staticmethod
    def of(ops: Sequence[Operation], context: Any) -> Loop:
        """Return the parts of the loop `context`, whose operations are all in `ops`."""
        own = [op for op in ops if graphs.context_of(op) is context]
        merges = [op for op in own if is_variable(op)]
        (loop_cond,) = [op for op in own if op.type == "LoopCond"]
        switches = [
            next(user for user in merge.outputs[0].consumers() if is_loop_end(user))
            for merge in merges
        ]
        turns = [merge.inputs[1].op for merge in merges]
        plumbing = {op.name for op in own if op.type in PLUMBING - {"Switch", "Merge"}}
        plumbing |= {op.name for op in (*merges, *switches)}
        inside = {op.name for op in ops} - plumbing
        test = needed_operations([loop_cond.inputs[0].op], lambda op: op.name in inside)
        return Loop(
            context=context,
            constants=[op for op in own if op.type == "Enter" and op.get_attr("is_constant")],
            merges=merges,
            switches=switches,
            entering=[merge.inputs[0] for merge in merges],
            next_values=[turn.inputs[0] for turn in turns],
            awaited=[op for turn in turns for op in turn.control_inputs if op.name in inside],
            name=loop_cond.name,
            predicate=loop_cond.inputs[0],
            test=[op for op in ops if op.name in test],
            body=[op for op in ops if op.name not in test and op.name not in plumbing],
        )

    @property
    def exits(self) -> list[Operation | None]:
        """Return for each variable the operation that takes its last value out, if any does."""
        users = [switch.outputs[0].consumers() for switch in self.switches]
        return [consumers[0] if consumers else None for consumers in users]


def functionalize(region: Region) -> tuple[Region, list[UnorderedAccesses]]:
    """Return `region` with conditionals and loops of TensorFlow 2, in a graph of its own.

    The second is the accesses in branches that nothing orders.
    """
    tensors = {
        tensor.name: tensor
        for op in region.ops
        for tensor in op.inputs
        if tensor.name in region.inputs
    }
    tensors |= {out.name: out for out in region.outputs if out.name in region.inputs}
    graph = graphs.plain_function_graph("functionalized")
    with graph.as_default(), graphs.control_flow_v2():
        parameters_by_name = {name: _parameter(tensors[name]) for name in region.inputs}
        level = Level.of(region.ops, None)
        built = _LevelBuilder(region, level, dict(parameters_by_name), {}, [])
        built.build([*level.roots(), *_owners(level, region.outputs)], region.outputs)
        outputs = tuple(built.tensors[out.name] for out in region.outputs)
        parameters = list(parameters_by_name.values())
        names_inside = argument_names(tensor.name for tensor in parameters)
        order_accesses(graph, parameters, names_inside, built.added)
    own = {op.name: op for op in graph.get_operations()}
    for tensor in parameters_by_name.values():
        del own[tensor.op.name]
    names = {tensor.name: name for name, tensor in parameters_by_name.items()}
    rebuilt = Region(
        graph=graph,
        ops=in_program_order(graph, own),
        inputs=tuple(names),
        outputs=outputs,
        nodes=graph_nodes(graph),
    )
    return rebuilt, built.unordered


def _parameter(tensor: Tensor) -> Tensor:
    placeholder = tf.compat.v1.placeholder(tensor.dtype.base_dtype, tensor.shape, tensor.op.name)
    graphs.copy_handle_data(tensor, placeholder)
    return placeholder


def _owners(level: Level, tensors: Iterable[Tensor]) -> list[FlatNode]:
    return [level.owner[tensor.op.name] for tensor in tensors if tensor.op.name in level.owner]


class _LevelBuilder:
    """The rebuilt part of a level, under the conditions `here`.

    `tensors` has the images of the region's tensors, `done` those to wait for of its operations.
    `unordered` has what has been found in the branches of the whole region.
    """

    def __init__(
        self,
        region: Region,
        level: Level,
        tensors: dict[str, Tensor],
        done: dict[str, list[Operation]],
        unordered: list[UnorderedAccesses],
        here: Conditions = frozenset(),
    ) -> None:
        self.region = region
        self.level = level
        self.tensors = tensors
        self.done = done
        self.unordered = unordered
        self.here = here
        self.added: set[str] = set()
        """The names of operations that the graph has only because of how it is rebuilt."""

    def build(self, wanted: Iterable[FlatNode], used_outside: Sequence[Tensor] = ()) -> None:
        """Rebuild `wanted`, with everything they need that has not been built yet.

        `used_outside` are tensors that are used outside the level.
        """
        for group in groups(self.level, wanted, self.here, self.done, used_outside):
            if isinstance(group, ConditionalNodes):
                self._build_conditional(group)
            elif group[0].loop is not None:
                self._build_loop(group[0])
            else:
                self._build_plain(group)

    def image(self, name: str) -> Tensor:
        """Return the image of the region's tensor `name` in the graph that is being built."""
        return graphs.capture_in_current_graph(self.tensors[name])

    def _build_plain(self, group: Group) -> None:
        copied: list[Operation] = []
        for node in group:
            op = node.op
            if op.type == "Switch" or is_merge(node):
                # Only the taken branch is built here, and it has the switched tensor.
                self._copy(copied)
                copied = []
                live = op.inputs[0] if op.type == "Switch" else self.level.live_inputs(node)[0]
                value = self.image(live.name)
                outputs = op.outputs if op.type == "Switch" else op.outputs[:1]
                self.tensors.update({output.name: value for output in outputs})
                self.done[op.name] = [value.op]
                if op.type == "Merge" and op.outputs[1].consumers():
                    self.tensors[op.outputs[1].name] = tf.constant(_input_number(op, live))
            else:
                copied.append(op)
        self._copy(copied)

    def _copy(self, ops: Sequence[Operation]) -> None:
        if not ops:
            return
        own = frozenset(op.name for op in ops)
        before = {op.name: frozenset(other.name for other in op.control_inputs) & own for op in ops}
        copied = copy_operations(self.region, ops, self.image, before, with_marks=True)
        for op in ops:
            image = copied.operations[op.name]
            operations.set_original(image, op)
            waits_for = self._waits_here(o for o in op.control_inputs if o.name not in own)
            if waits_for:
                operations.add_control_inputs(image, waits_for)
            self.done[op.name] = [image]
        self.tensors.update(copied.tensors)

    def _waits_here(self, ops: Iterable[Operation]) -> list[Operation]:
        """Return the operations of this graph to wait for in place of `ops`.

        Those of the graphs around it run before it anyway.
        """
        graph = tf.compat.v1.get_default_graph()
        names = sorted({op.name for op in ops})
        images = [image for name in names for image in self.done.get(name, ())]
        return [image for image in images if image.graph is graph]

    def result(self, tensor: Tensor | int | None, instead: Tensor | int | None) -> Tensor:
        """Return a branch's result for `tensor`, or zeros like `instead` where it has none."""
        if isinstance(tensor, int):
            return tf.constant(tensor)
        return _zeros_like(instead) if tensor is None else tf.identity(self.image(tensor.name))

    def _build_conditional(self, conditional: ConditionalNodes) -> None:
        wanted = conditional.results

        def branch(value: int) -> list[Tensor]:
            here = self.here | {(conditional.predicate, value)}
            inside = _LevelBuilder(
                self.region,
                self.level,
                dict(self.tensors),
                dict(self.done),
                self.unordered,
                here,
            )
            inside.build(conditional.wanted[value], conditional.used_outside(value))
            results = [inside.result(result.of[value], result.of[1 - value]) for result in wanted]
            handed = [tensor for tensor in conditional.switched if tensor.name in self.tensors]
            body, accesses = _order_accesses(
                ((self.tensors[tensor.name], tensor.op.name) for tensor in handed), inside.added
            )
            self.unordered.extend(find_unordered(body, accesses))
            return [tf.constant(True), *results]

        predicate = self.image(conditional.predicate)
        with tf.control_dependencies(self._waits_here(conditional.waits_for)):
            ran, *results = tf.cond(
                predicate, lambda: branch(1), lambda: branch(0), name=conditional.name
            )
        names = [result.name for result in wanted]
        self.tensors.update(zip(names, results, strict=True))
        self.done.update({name: [_producing_operation(ran)] for name in conditional.finished})

    def _build_loop(self, node: FlatNode) -> None:
        loop = Loop.of(node.ops, node.loop)
        outer = dict(self.tensors)
        outer |= {op.outputs[0].name: self.tensors[op.inputs[0].name] for op in loop.constants}

        def part(ops: Sequence[Operation], variables: Sequence[Tensor]) -> _LevelBuilder:
            level = Level.of(ops, loop.context)
            here = _LevelBuilder(self.region, level, dict(outer), {}, self.unordered)
            for merge, switch, variable in zip(loop.merges, loop.switches, variables, strict=True):
                variable.set_shape(merge.outputs[0].shape)
                for old in (*merge.outputs[:1], *switch.outputs[1:]):
                    here.tensors[old.name] = variable
            return here

        def goes_on(*variables: Tensor) -> Tensor:
            here = part(loop.test, variables)
            here.build(_owners(here.level, [loop.predicate]), [loop.predicate])
            return here.image(loop.predicate.name)

        def body(*variables: Tensor) -> list[Tensor]:
            here = part(loop.body, variables)
            awaited = [here.level.owner[op.name] for op in loop.awaited]
            here.build([*_owners(here.level, loop.next_values), *awaited], loop.next_values)
            counters = tf.compat.v1.get_default_graph().inputs[:2]
            _order_accesses(
                [
                    *zip(variables, (tensor.op.name for tensor in loop.entering)),
                    *((outer[op.outputs[0].name], op.name) for op in loop.constants),
                ],
                here.added | {tensor.name for tensor in counters},
            )
            return [tf.identity(here.image(tensor.name)) for tensor in loop.next_values]

        with tf.control_dependencies(self._waits_here(node.waits_for)):
            results = tf.while_loop(
                goes_on,
                body,
                [self.image(tensor.op.inputs[0].name) for tensor in loop.entering],
                shape_invariants=[tf.TensorShape(None)] * len(loop.merges),
                parallel_iterations=1,
                name=loop.name,
            )
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for exit_, result in zip(loop.exits, results, strict=True):
            if exit_ is not None:
                self.tensors[exit_.outputs[0].name] = result
        loop_operation = _producing_operation(results[0])
        self.done.update({name: [loop_operation] for name in node.names})
        self.added |= {counter.op.name for counter in loop_operation.inputs[:2]}


def _input_number(merge: Operation, live: Tensor) -> int:
    """Return the number of the input of `merge` that is `live`."""
    return next(number for number, tensor in enumerate(merge.inputs) if tensor.name == live.name)


def _producing_operation(result: Tensor) -> Operation:
    """Return the conditional or loop that has the output `result`."""
    while result.op.type == "Identity":
        result = result.op.inputs[0]
    return result.op


def _order_accesses(
    named: Iterable[tuple[Tensor, str]], added: Container[str]
) -> tuple[Region, list[Operation]]:
    """Order the unordered accesses in the body that is being built.

    `named` has its arguments and captures, with the operation by which TensorFlow passes each,
    `added` the names of the arguments and operations that it does not have.
    """
    graph = tf.compat.v1.get_default_graph()
    captures = zip(graph.external_captures, graph.internal_captures, strict=True)
    inside = {id(outer): inner for outer, inner in captures}
    names: dict[str, str] = {}
    for tensor, name in named:
        inner: Tensor = inside.get(id(tensor), tensor)
        if inner.graph is graph:
            names[inner.name] = min(name, names.get(inner.name, name))
    arguments = numbered_arguments(graph.inputs, names, added)
    # The executor, which runs what is not compiled, drops what leads to no output.
    graph.control_outputs.extend(op for op in graph.get_operations() if op.op_def.is_stateful)
    return order_accesses(graph, graph.inputs, arguments, added)


def _zeros_like(tensor: Tensor) -> Tensor:
    """Return zeros for `tensor` in the branch that does not have it, where they are never used."""
    shape = [size or 0 for size in tensor.shape.as_list()] if tensor.shape.rank is not None else []
    return tf.zeros(shape, tensor.dtype.base_dtype)
