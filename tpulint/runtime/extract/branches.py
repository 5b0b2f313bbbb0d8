"""The order in which the nodes of a level are rebuilt, and their grouping into conditionals.

A conditional of TensorFlow 1 is not one operation: its gradients use results of its branches, and
come after operations that follow it. So its Merge operations become conditionals as they are ready.
Nodes without effects are computed again in each conditional that uses them; nodes with effects run
in the first, which returns their results.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tpulint.runtime.extract.flat import Conditions, FlatNode, Level, predicate_of
from tpulint.runtime.extract.region import Operation, Tensor, topological_sort

# Operations without bodies, or one loop.
Group = Sequence[FlatNode]


@dataclass(frozen=True, eq=False)
class BranchResult:
    """The tensor `name`, and its value if the predicate is false, and if it is true.

    A number is the tensor itself; None is for a tensor of the other branch, which has no value.
    """

    name: str
    of: tuple[Tensor | int | None, Tensor | int | None]


@dataclass(frozen=True, eq=False)
class ConditionalNodes:
    """The nodes that become one conditional."""

    predicate: str
    merges: Sequence[FlatNode]
    wanted: tuple[Sequence[FlatNode], Sequence[FlatNode]]
    """The nodes to make if the predicate is false, and if it is true."""
    results: Sequence[BranchResult]
    content: Sequence[FlatNode]
    finished: frozenset[str]
    """The names of the operations that are not to be made again."""

    def used_outside(self, value: int) -> list[Tensor]:
        """Return the tensors that the branch of `value` returns."""
        taken = [result.of[value] for result in self.results]
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


def groups(
    level: Level,
    wanted: Iterable[FlatNode],
    here: Conditions,
    done: Container[str],
    used_outside: Iterable[Tensor],
) -> Iterator[Group | ConditionalNodes]:
    """Yield in order all that is needed for `wanted`, where the conditions `here` hold.

    `done` has the names of the operations made so far, and grows between the groups.
    `used_outside` are the tensors used outside the level.
    """
    plan = _Plan(level, here, done, frozenset(tensor.name for tensor in used_outside))
    plain: list[FlatNode] = []
    together: list[FlatNode] = []
    for node in plan.ordered(wanted):
        joins = plan.is_conditional(node)
        # As many Merges as possible become one conditional, so that its effects run once.
        if together and not (joins and plan.can_join(node, together)):
            yield plan.conditional(together)
            together = []
        if plain and (joins or node.loop is not None):
            yield plain
            plain = []
        # A group made meanwhile may have had it inside.
        if node.op.name in done:
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
        yield plan.conditional(together)


@dataclass(frozen=True, eq=False)
class _Plan:
    level: Level
    here: Conditions
    done: Container[str]
    used_outside: frozenset[str]

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
        if self._condition(node)[0] != self._condition(together[0])[0]:
            return False
        return not set(self._needs(node)) & set(together)

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
        results = [
            result for merge, both in taken.items() for result in _merge_results(merge.op, both)
        ]
        finished = {merge.op.name for merge in merges}
        for value in (0, 1):
            for node, leaving in self._needed_later(content[value], inside, alone):
                finished |= node.names
                results += [
                    BranchResult(tensor.name, (None, tensor) if value else (tensor, None))
                    for tensor in leaving
                ]
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
        first, other = merge.op.inputs
        return (
            (first, other) if (predicate, 0) in self.level.conditions_of(first) else (other, first)
        )

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


def _merge_results(merge: Operation, taken: tuple[Tensor, Tensor]) -> Iterator[BranchResult]:
    """Return the results of `merge`: its value, and the number of the input that it took."""
    value, number = merge.outputs
    yield BranchResult(value.name, taken)
    if number.consumers():
        first = 0 if taken[0] is merge.inputs[0] else 1
        yield BranchResult(number.name, (first, 1 - first))
