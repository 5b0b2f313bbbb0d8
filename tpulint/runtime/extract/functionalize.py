"""Conditionals and loops of TensorFlow 1, rebuilt as those of TensorFlow 2.

The old ones are Switch, Merge, Enter, Exit and NextIteration operations in one flat graph. Here
each becomes one operation with graphs inside, in a copy of the region.

The gradients of a conditional use results of its branches, after operations that follow it. So its
Merge operations become conditionals as they are ready. Nodes without effects are computed again in
each conditional that uses them; nodes with effects run in the first, which returns their results.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract import order
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.flat import (
    Conditions,
    FlatNode,
    Level,
    is_loop_end,
    is_merge,
    is_variable,
    predicate_of,
)
from tpulint.runtime.extract.region import (
    Operation,
    Region,
    Tensor,
    needed_operations,
    skip_identities,
    topological_sort,
)
from tpulint.runtime.tensorflow_internals import graphs, operations
from tpulint.runtime.tensorflow_internals.patching import set_default

# Operations without bodies, or one loop.
Group = Sequence[FlatNode]


# What a conditional returns if its predicate is false, and if it is true. A number is the tensor
# itself; None is for a tensor of the other branch, which has no value.
BranchResult = tuple[Tensor | int | None, Tensor | int | None]


@dataclass(frozen=True, eq=False)
class ConditionalNodes:
    """The nodes that become one conditional."""

    predicate: str
    merges: Sequence[FlatNode]
    wanted: tuple[Sequence[FlatNode], Sequence[FlatNode]]
    """The nodes to make if the predicate is false, and if it is true."""
    results: Mapping[str, BranchResult]
    """By the name of the tensor."""
    content: Sequence[FlatNode]
    finished: frozenset[str]
    """The names of the operations that are not to be made again."""

    def used_outside(self, value: int) -> list[Tensor]:
        """Return the tensors that the branch of `value` returns."""
        taken = [result[value] for result in self.results.values()]
        return [tensor for tensor in taken if tensor is not None and not isinstance(tensor, int)]

    @property
    def name(self) -> str:
        """The name that TensorFlow gives it (functionalize_cond.cc)."""
        return f"{min(node.op.name for node in self.merges or self.content)}_if"

    @property
    def switched(self) -> list[Tensor]:
        """The outputs of Switch operations that its branches take."""
        taken = [tensor for node in (*self.merges, *self.content) for tensor in node.inputs]
        switched = [tensor for tensor in taken if tensor.op.type == "Switch"]
        return [tensor for tensor in switched if predicate_of(tensor.op) == self.predicate]

    @property
    def waits_for(self) -> list[Operation]:
        """The control inputs of all that is in it."""
        inside = {name for node in (*self.merges, *self.content) for name in node.names}
        waits = [op for node in (*self.merges, *self.content) for op in node.waits_for]
        return [op for op in waits if op.name not in inside]


@dataclass(frozen=True, eq=False)
class _Plan:
    """The order in which a level is made where the conditions `here` hold.

    `done` has the names of the operations made so far, and grows between the groups.
    """

    level: Level
    here: Conditions
    done: Container[str]
    used_outside: frozenset[str]
    """The names of the tensors used outside the level."""

    def groups(self, wanted: Iterable[FlatNode]) -> Iterator[Group | ConditionalNodes]:
        """Yield in order all that is needed for `wanted`."""
        plain: list[FlatNode] = []
        together: list[FlatNode] = []
        for node in self.ordered(wanted):
            joins = self.is_conditional(node)
            # As many Merges as possible become one conditional, so that its effects run once.
            if together and not (joins and self.can_join(node, together)):
                yield self.conditional(together)
                together = []
            if plain and (joins or node.loop is not None):
                yield plain
                plain = []
            # A group made meanwhile may have had it inside.
            if node.op.name in self.done:
                continue
            if joins:
                together.append(node)
            elif node.loop is not None:
                yield [node]
            else:
                plain.append(node)
        if plain:
            yield plain
        if together:
            yield self.conditional(together)

    def ordered(self, wanted: Iterable[FlatNode]) -> list[FlatNode]:
        """Return `wanted` and all that they need here, each after its own needs."""
        needs: dict[FlatNode, list[FlatNode]] = {}
        unread = list(wanted)
        while unread:
            node = unread.pop()
            if node not in needs and node.op.name not in self.done:
                needs[node] = self._needs(node)
                unread += needs[node]
        place = {node: number for number, node in enumerate(self.level.nodes)}
        # A node alone in a branch may yet be made together with a Merge of that branch.
        first = sorted(needs, key=lambda node: (not self._is_here(node), place[node]))
        return topological_sort(first, lambda node: needs[node])

    def is_conditional(self, node: FlatNode) -> bool:
        """Return whether `node` is the result of a conditional, or alone in a branch."""
        return not self._is_here(node) or self.level.joined_predicate(node) is not None

    def can_join(self, node: FlatNode, together: Sequence[FlatNode]) -> bool:
        """Return whether `node` can be made in one conditional with `together`."""
        same_predicate = self._condition(node)[0] == self._condition(together[0])[0]
        return same_predicate and not set(self._needs(node)) & set(together)

    def conditional(self, nodes: Sequence[FlatNode]) -> ConditionalNodes:
        """Return the conditional of `nodes`."""
        predicate = self._condition(nodes[0])[0]
        merges = [node for node in nodes if self._is_here(node)]
        alone = [node for node in nodes if not self._is_here(node)]
        taken = {merge: self._merge_inputs(merge, predicate) for merge in merges}
        wanted: tuple[list[FlatNode], list[FlatNode]] = ([], [])
        for node in alone:
            wanted[self._condition(node)[1]].append(node)
        for both in taken.values():
            for value, tensor in enumerate(both):
                if tensor.op.name in self.level.owner:
                    wanted[value].append(self.level.owner[tensor.op.name])
        content = tuple(self._content(wanted[value])[0] for value in (0, 1))
        inside = {*content[0], *content[1], *nodes}
        results: dict[str, BranchResult] = {}
        for merge, both in taken.items():
            merged, number = merge.op.outputs
            results[merged.name] = both
            if number.consumers():  # the number of the input that it took
                if_false = 0 if both[0] is merge.op.inputs[0] else 1
                results[number.name] = if_false, 1 - if_false
        finished = {merge.op.name for merge in merges}
        for value in (0, 1):
            for node, leaving in self._needed_later(content[value], inside, alone):
                finished |= node.names
                for tensor in leaving:
                    results[tensor.name] = (None, tensor) if value else (tensor, None)
        return ConditionalNodes(
            predicate, merges, wanted, results, (*content[0], *content[1]), frozenset(finished)
        )

    def _is_here(self, node: FlatNode) -> bool:
        return self.level.conditions[node] <= self.here

    def _condition(self, node: FlatNode) -> tuple[str, int]:
        """Return the predicate of the conditional that `node` belongs to here, and its branch."""
        joins = self.level.joined_predicate(node)
        if self._is_here(node) and joins is not None:
            return joins, 0
        more = self.level.conditions[node] - self.here
        for predicate, value in sorted(more):
            made_by = self.level.owner.get(predicate.rpartition(":")[0])
            if made_by is None or self._is_here(made_by):
                return predicate, value
        raise AssertionError(f"{node.op.name} needs predicates that need each other: {more}")

    def _merge_inputs(self, merge: FlatNode, predicate: str) -> tuple[Tensor, Tensor]:
        """Return what `merge` takes if the predicate is false, and if it is true."""
        first, other = merge.op.inputs
        if (predicate, 0) in self.level.conditions_of(first):
            return first, other
        return other, first

    def _needs(self, node: FlatNode) -> list[FlatNode]:
        if self.is_conditional(node):
            return self._content([node] if not self._is_here(node) else self.level.sources(node))[1]
        return self.level.sources(node)

    def _content(self, wanted: Iterable[FlatNode]) -> tuple[list[FlatNode], list[FlatNode]]:
        """Return the nodes to make in a branch for `wanted`, and those to make here before."""
        content: dict[FlatNode, None] = {}
        before: dict[FlatNode, None] = {}
        unread = list(wanted)
        while unread:
            node = unread.pop()
            if node in content or node in before or node.op.name in self.done:
                continue
            # What runs in any case is made outside, once for both branches.
            if self._is_here(node):
                before[node] = None
            else:
                content[node] = None
                unread += self.level.sources(node)
        return list(content), list(before)

    def _needed_later(
        self, content: Sequence[FlatNode], inside: Container[FlatNode], alone: Container[FlatNode]
    ) -> Iterator[tuple[FlatNode, list[Tensor]]]:
        """Yield the nodes of a branch that cannot be made again where they are needed later.

        Each comes with its tensors that are needed.
        """
        users = self.level.users
        later: dict[FlatNode, set[FlatNode]] = {}
        unread = [
            (node, user) for node in content for user in users.get(node, ()) if user not in inside
        ]
        own = set(content)
        while unread:
            node, user = unread.pop()
            if node not in own or user in later.setdefault(node, set()):
                continue
            later[node].add(user)
            if not self._is_made_once(node, alone):  # it is made again there, from its inputs
                unread += [(source, node) for source in self.level.sources(node)]
        for node in content:
            tensors = [tensor for op in node.ops for tensor in op.outputs]
            taken = {tensor.name for user in later.get(node, ()) for tensor in user.inputs}
            taken |= self.used_outside & {tensor.name for tensor in tensors}
            if self._is_made_once(node, alone) and (taken or node in later):
                yield node, [tensor for tensor in tensors if tensor.name in taken]

    def _is_made_once(self, node: FlatNode, alone: Container[FlatNode]) -> bool:
        """Return whether `node` is made only once; a handle cannot leave, so it is made again."""
        kinds = {tensor.dtype.base_dtype.name for op in node.ops for tensor in op.outputs}
        if node.loop is None and kinds & {"resource", "variant"}:
            return False
        return self.level.has_effects(node) or node in alone


class Loop:
    """The operations of a loop, apart: loop variables in order, the test, the body."""

    def __init__(self, ops: Sequence[Operation], context: Any) -> None:
        """Take the loop `context` apart, whose operations are all in `ops`."""
        own = [op for op in ops if graphs.context_of(op) is context]
        self.constants = [op for op in own if op.type == "Enter" and op.get_attr("is_constant")]
        self.merges = [op for op in own if is_variable(op)]
        self.switches = [
            next(user for user in merge.outputs[0].consumers() if is_loop_end(user))
            for merge in self.merges
        ]
        self.entering = [merge.inputs[0] for merge in self.merges]
        """The results of the Enter operations for the loop variables."""
        turns = [merge.inputs[1].op for merge in self.merges]
        self.next_values = [turn.inputs[0] for turn in turns]
        (loop_cond,) = [op for op in own if op.type == "LoopCond"]
        self.name = loop_cond.name
        """The name that TensorFlow gives its rebuilt loop (functionalize_while.cc)."""
        self.predicate = loop_cond.inputs[0]
        plumbing = {op.name for op in own if op.type in operations.PLUMBING - {"Switch", "Merge"}}
        plumbing |= {op.name for op in (*self.merges, *self.switches)}
        inside = {op.name for op in ops} - plumbing
        self.awaited = [op for turn in turns for op in turn.control_inputs if op.name in inside]
        """The operations that an iteration waits for without using their results."""
        test = needed_operations([self.predicate.op], lambda op: op.name in inside)
        self.test = [op for op in ops if op.name in test]
        self.body = [op for op in ops if op.name in inside and op.name not in test]

    @property
    def exits(self) -> list[Operation | None]:
        """Return for each variable the operation that takes its last value out, if any does."""
        users = [switch.outputs[0].consumers() for switch in self.switches]
        return [consumers[0] if consumers else None for consumers in users]


def functionalize(region: Region) -> tuple[Region, list[order.UnorderedAccesses]]:
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
    with tf.Graph().as_default():  # outside all others, without automatic control dependencies
        graph = graphs.FuncGraph("functionalized")
    graph._add_control_dependencies = False
    with graph.as_default(), graphs.control_flow_v2():
        parameters_by_name = {name: _parameter(tensors[name]) for name in region.inputs}
        level = Level(region.ops, None)
        built = _LevelBuilder(region, level, dict(parameters_by_name), {}, [])
        built.build([*level.roots(), *_owners(level, region.outputs)], region.outputs)
        outputs = tuple(built.tensors[out.name] for out in region.outputs)
        parameters = list(parameters_by_name.values())
        names_inside = order.argument_names(tensor.name for tensor in parameters)
        order.order_accesses(graph, parameters, names_inside, built.added)
    own = {op.name: op for op in graph.get_operations()}
    for tensor in parameters_by_name.values():
        del own[tensor.op.name]
    names = {tensor.name: name for name, tensor in parameters_by_name.items()}
    return Region.of(graph, own, names, outputs), built.unordered


def _parameter(tensor: Tensor) -> Tensor:
    placeholder = tf.compat.v1.placeholder(tensor.dtype.base_dtype, tensor.shape, tensor.op.name)
    graphs.copy_handle_data(tensor, placeholder)
    return placeholder


def _owners(level: Level, tensors: Iterable[Tensor]) -> list[FlatNode]:
    return [level.owner[tensor.op.name] for tensor in tensors if tensor.op.name in level.owner]


@dataclass(eq=False)
class _LevelBuilder:
    """The rebuilt part of a level, under the conditions `here`.

    `tensors` has the images of the region's tensors, `done` those to wait for of its operations.
    `unordered` has what has been found in the branches of the whole region. `added` has the names
    of operations that the graph has only because of how it is rebuilt.
    """

    region: Region
    level: Level
    tensors: dict[str, Tensor]
    done: dict[str, list[Operation]]
    unordered: list[order.UnorderedAccesses]
    here: Conditions = frozenset()
    added: set[str] = field(default_factory=set)

    def build(self, wanted: Iterable[FlatNode], used_outside: Sequence[Tensor] = ()) -> None:
        """Rebuild `wanted`, with everything they need that has not been built yet.

        `used_outside` are tensors that are used outside the level.
        """
        names = frozenset(tensor.name for tensor in used_outside)
        for group in _Plan(self.level, self.here, self.done, names).groups(wanted):
            if isinstance(group, ConditionalNodes):
                self._build_conditional(group)
            elif group[0].loop is not None:
                self._build_loop(group[0])
            else:
                self._build_plain(group)

    def image(self, name: str) -> Tensor:
        """Return the image of the region's tensor `name` in the graph that is being built."""
        graph, tensor = graphs.default_graph(), self.tensors[name]
        return tensor if tensor.graph is graph else graph.capture(tensor)

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
                    number = [tensor.name for tensor in op.inputs].index(live.name)
                    self.tensors[op.outputs[1].name] = tf.constant(number)
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
            set_default(image.graph, operations.ORIGINALS, {})[image.name] = op
            waits_for = self._waits_here(o for o in op.control_inputs if o.name not in own)
            if waits_for:
                image._add_control_inputs(waits_for)
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

    def result(self, tensor: Tensor | int | None, instead: Tensor) -> Tensor:
        """Return a branch's result for `tensor`, or zeros like `instead` where it has none."""
        if isinstance(tensor, int):
            return tf.constant(tensor)
        if tensor is not None:
            return tf.identity(self.image(tensor.name))
        has_rank = instead.shape.rank is not None
        shape = [size or 0 for size in instead.shape.as_list()] if has_rank else []
        return tf.zeros(shape, instead.dtype.base_dtype)

    def _build_conditional(self, conditional: ConditionalNodes) -> None:
        def branch(value: int) -> list[Tensor]:
            here = self.here | {(conditional.predicate, value)}
            tensors, done = dict(self.tensors), dict(self.done)
            inside = _LevelBuilder(self.region, self.level, tensors, done, self.unordered, here)
            inside.build(conditional.wanted[value], conditional.used_outside(value))
            results = [
                inside.result(result[value], result[1 - value])
                for result in conditional.results.values()
            ]
            handed = [tensor for tensor in conditional.switched if tensor.name in self.tensors]
            body, accesses = _order_accesses(
                ((self.tensors[tensor.name], tensor.op.name) for tensor in handed), inside.added
            )
            self.unordered.extend(order.find_unordered(body, accesses))
            return [tf.constant(True), *results]

        predicate = self.image(conditional.predicate)
        with tf.control_dependencies(self._waits_here(conditional.waits_for)):
            ran, *results = tf.cond(
                predicate, lambda: branch(1), lambda: branch(0), name=conditional.name
            )
        self.tensors.update(zip(conditional.results, results, strict=True))
        self.done.update({name: [skip_identities(ran).op] for name in conditional.finished})

    def _build_loop(self, node: FlatNode) -> None:
        loop = Loop(node.ops, node.loop)
        outer = dict(self.tensors)
        outer |= {op.outputs[0].name: self.tensors[op.inputs[0].name] for op in loop.constants}

        def part(ops: Sequence[Operation], variables: Sequence[Tensor]) -> _LevelBuilder:
            level = Level(ops, node.loop)
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
        loop_operation = skip_identities(results[0]).op
        self.done.update({name: [loop_operation] for name in node.names})
        self.added |= {counter.op.name for counter in loop_operation.inputs[:2]}


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
    arguments = order.numbered_arguments(graph.inputs, names, added)
    # The executor, which runs what is not compiled, drops what leads to no output.
    graph.control_outputs.extend(op for op in graph.get_operations() if op.op_def.is_stateful)
    return order.order_accesses(graph, graph.inputs, arguments, added)
