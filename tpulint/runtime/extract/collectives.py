"""The collectives of a program: their sites, their groups, and the replicas that may not come.

Whether all come depends on what the replicas agree on. They differ in what each has of its own,
its inputs and its infeed, and in what depends on that. They certainly agree on what follows from
constants and shared inputs: all replicas leave a loop that counts to a constant together, so that
none of them can miss an operation in it.

A strategy keeps a copy of each variable on every core. It combines the replicas' values where the
program asks for an `aggregation`; without one each core writes its own, and the copies may differ.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tpulint.ordering import AGREEMENTS, COLLECTIVES, INFEED_TAKES, Truth, all3, rule_of_divergence
from tpulint.runtime.errors import UnsupportedOpError
from tpulint.runtime.extract.bodies import (
    CASE,
    IF,
    READS,
    WHILE,
    arguments,
    bodies,
    holds_bodies,
    is_call,
    is_resource,
    touches,
)
from tpulint.runtime.extract.constants import constant_value
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Graph, Operation, Region, RegionSite
from tpulint.runtime.extract.segments import Side, side_of
from tpulint.runtime.source_location import operation_location

Groups = tuple[tuple[int, ...], ...]


def assigned_groups(op: Operation) -> Groups:
    """Return the groups that `op`, a collective, assigns; none of them if all replicas meet.

    Raise `UnsupportedOpError` if the groups depend on data.
    """
    if op.type == "CollectivePermute":
        return ()
    return tuple(tuple(int(member) for member in group) for group in _replicas_named_by(op))


def source_target_pairs(op: Operation) -> Groups:
    """Return the pairs of `op`, a `CollectivePermute`: the replica that sends, and its target.

    Raise `UnsupportedOpError` if the pairs depend on data.
    """
    return tuple((int(source), int(target)) for source, target in _replicas_named_by(op))


def _replicas_named_by(op: Operation) -> Any:
    replicas = constant_value(op.inputs[1])
    # A TPU lays out the exchange when it compiles the program.
    if replicas is None:
        raise UnsupportedOpError(
            f"Input 1 to node `{op.name}` with op {op.type} must be a compile-time constant",
            place=operation_location(op),
            rule="TPU502",
        )
    return replicas if replicas.size else ()


# Whether all replicas have the same value of a tensor, by its name.
Agreements = Mapping[str, Truth]


def agreements_on_inputs(program: ReplicatedProgram) -> Agreements:
    """Return the agreements on the inputs of `program`, without handles."""
    return {
        name: Truth.YES if len({tensor.name for tensor in tensors}) == 1 else Truth.NO
        for name, tensors in program.boundary.items()
        if not is_resource(tensors[0])
    }


def agreements(region: Region, inputs: Agreements) -> Agreements:
    """Return the agreements on the tensors of `region`, given those on its inputs.

    The sum of a collective is the same everywhere, as far as it depends on data alone; what an
    infeed gives is each core's own. What a Python function on the host returns may be anything.
    """
    agreed = dict(inputs)
    for op in region.ops:
        # Not even known to be alike: a sum of floats depends on the order of its parts.
        if op.type in AGREEMENTS:
            continue
        least = all3(agreed.get(tensor.name, Truth.MAYBE) for tensor in op.inputs)
        may_differ = op.op_def.is_stateful or op.type in COLLECTIVES
        if op.type in INFEED_TAKES:
            least = Truth.NO
        elif least is Truth.YES and (may_differ or side_of(region, op) is not Side.DEVICE):
            least = Truth.MAYBE
        for tensor in op.outputs:
            # Rounding may depend on more than the inputs.
            is_sure = least is Truth.NO or bool(tensor.dtype.is_integer or tensor.dtype.is_bool)
            agreed[tensor.name] = least if is_sure else Truth.MAYBE
    return agreed


def agreements_in_body(
    region: Region, op: Operation, body: Region, outer: Agreements
) -> Agreements:
    """Return the agreements on the inputs of `body`, of `op`, given those of `region`."""
    handed_in = [outer.get(tensor.name, Truth.MAYBE) for tensor in arguments(op)]
    if op.type in WHILE:
        handed_in = _loop_agreements(bodies(region, op)[1], handed_in)
    return dict(zip(body.inputs, handed_in, strict=True))


def _loop_agreements(body: Region, variables: list[Truth]) -> list[Truth]:
    """Return the agreements on a loop's variables, which a round may only make less."""
    while True:
        inside = agreements(body, dict(zip(body.inputs, variables, strict=True)))
        carried = [
            all3([before, inside.get(tensor.name, Truth.MAYBE)])
            for before, tensor in zip(variables, body.outputs, strict=True)
        ]
        if carried == variables:
            return variables
        variables = carried


@dataclass(frozen=True, eq=False)
class Decision:
    """A conditional or a loop around a collective.

    `loops` is how many loops are around it; `branch` the one of the collective, None in a loop.
    """

    site: RegionSite
    op: Operation
    loops: int
    branch: int | None


@dataclass(frozen=True, eq=False)
class Collective:
    """One collective operation, at one of its sites."""

    site: RegionSite
    op: Operation
    groups: Groups
    """The replicas that meet, group by group. Every replica is in one of them."""
    decisions: tuple[Decision, ...]
    """The decisions on which a replica's arrival depends, outermost first."""
    alike: Truth
    """Whether all replicas decide alike, so that none can miss it."""

    @property
    def can_be_missed(self) -> bool:
        """Return whether some replicas may come and others not."""
        return self.alike is not Truth.YES

    @property
    def rule(self) -> str:
        """Return the code of the rule that is broken if only some replicas come."""
        return rule_of_divergence(self.alike)

    @property
    def comes_once(self) -> bool:
        """Return whether every replica comes once a step."""
        return not self.decisions

    def group_of(self, replica: int) -> tuple[int, ...]:
        """Return the replicas that `replica` meets here, itself among them."""
        return next(group for group in self.groups if replica in group)


def find_collectives(program: ReplicatedProgram) -> Iterator[Collective]:
    """Yield the collectives of `program`."""
    for visit in _visits(program.region, agreements_on_inputs(program)):
        if visit.op.type not in COLLECTIVES:
            continue
        site: RegionSite = ()
        decisions: list[Decision] = []
        alike = Truth.YES
        for outer, number in visit.enclosing:
            site = (*site, outer.op.name)
            # A call is no decision: every replica goes into it.
            if not is_call(outer.op):
                loops = sum(decision.branch is None for decision in decisions)
                branch = None if outer.op.type in WHILE else number
                decisions.append(Decision(site, outer.op, loops, branch))
                alike = all3([alike, outer.agreement])
            site = (*site, number)
        groups = _groups(visit.op, program.num_replicas)
        yield Collective((*site, visit.op.name), visit.op, groups, tuple(decisions), alike)


@dataclass(frozen=True, eq=False)
class _Visit:
    """An operation of `region`, and what is agreed on there.

    `enclosing` has the visits of the calls, loops and conditionals around it, outermost first, each
    with the number of its body that holds the next one.
    """

    region: Region
    op: Operation
    agreed: Agreements
    enclosing: tuple[tuple[_Visit, int], ...]

    @cached_property  # a loop may have as many collectives as a model has variables
    def agreement(self) -> Truth:
        """Whether all replicas take one branch of `op`, or make as many rounds of it."""
        if self.op.type in IF | CASE:
            return self.agreed.get(self.op.inputs[0].name, Truth.MAYBE)
        condition = bodies(self.region, self.op)[0]
        handed_in = agreements_in_body(self.region, self.op, condition, self.agreed)
        inside = agreements(condition, handed_in)
        return inside.get(condition.outputs[0].name, Truth.MAYBE)


def _visits(
    region: Region, inputs: Agreements, enclosing: tuple[tuple[_Visit, int], ...] = ()
) -> Iterator[_Visit]:
    """Yield the operations of `region`, each before those in its bodies."""
    agreed = agreements(region, inputs)
    for op in region.ops:
        visit = _Visit(region, op, agreed, enclosing)
        yield visit
        for number, body in enumerate(bodies(region, op)):
            handed_in = agreements_in_body(region, op, body, agreed)
            yield from _visits(body, handed_in, (*enclosing, (visit, number)))


def _groups(op: Operation, replicas: int) -> Groups:
    """Return the assigned groups, and a group of its own for each replica in none of them."""
    groups = assigned_groups(op)
    if not groups:
        return (tuple(range(replicas)),)
    together = {replica for group in groups for replica in group}
    return (*groups, *((replica,) for replica in range(replicas) if replica not in together))


# The seed among the inputs of a stateless draw: of the first kind itself, then a key and a counter.
_SEEDS = {
    f"Stateless{name}{version}": places
    for name in (
        *("RandomUniform", "RandomNormal", "TruncatedNormal"),
        *("RandomUniformInt", "RandomUniformFullInt"),
    )
    for version, places in (("", (1,)), ("V2", (1, 2)))
}


def equal_draws(program: ReplicatedProgram) -> Iterator[Operation]:
    """Yield the stateless draws of random numbers that have the same seed on all replicas."""
    if program.num_replicas == 1:
        return
    for visit in _visits(program.region, agreements_on_inputs(program)):
        seeds = [visit.op.inputs[place].name for place in _SEEDS.get(visit.op.type, ())]
        if seeds and all(visit.agreed.get(name) is Truth.YES for name in seeds):
            yield visit.op


class CopyUses(NamedTuple):
    """What a step does with the copies of mirrored variables, which it names by their handles.

    writes: the first write to each of a value that may differ between replicas. summed: those of
    which the step only adds up all copies, or computes the next value: so gradients are
    accumulated, and each core is meant to have its own. read: those on whose copies more depends.
    """

    writes: dict[str, Operation]
    summed: frozenset[str]
    read: frozenset[str]


def uses_of_copies(program: ReplicatedProgram) -> CopyUses:
    """Return what `program` does with the copies of its mirrored variables."""
    # A function that is called twice may get values that differ at one of the calls only.
    differ: set[tuple[Graph, str]] = set()
    for visit in _visits(program.region, agreements_on_inputs(program)):
        names = (tensor.name for tensor in visit.op.inputs)
        unequal = (name for name in names if visit.agreed.get(name) is Truth.NO)
        differ.update((visit.region.graph, name) for name in unequal)
    writes: dict[str, Operation] = {}
    for touch in touches(program.region):
        if touch.on_host or not touch.writes or touch.variable not in program.mirrored:
            continue
        values = [tensor for tensor in touch.op.inputs if not is_resource(tensor)]
        if any((touch.region.graph, tensor.name) in differ for tensor in values):
            writes.setdefault(touch.variable, touch.op)
    bits = {variable: 1 << place for place, variable in enumerate(program.mirrored)}
    reads = _Reads()
    results = reads.follow(program.region, bits)  # it changes `reads.differ` itself
    reads.differ |= _union(results)
    only_summed = reads.summed & ~reads.differ
    return CopyUses(
        writes,
        frozenset(variable for variable, bit in bits.items() if bit & only_summed),
        frozenset(variable for variable, bit in bits.items() if bit & reads.differ),
    )


class _Reads:
    """What a step does with its reads of some variables, each of which is a bit of a number.

    The bit of a handle is its variable's; the bits of a value are those of all reads behind it.
    """

    def __init__(self) -> None:
        self.summed = 0
        """The variables that all replicas add up."""
        self.differ = 0
        """Those on whose copies more depends than a sum, or what is written to them."""

    def follow(self, region: Region, inputs: Mapping[str, int]) -> list[int]:
        """Return the bits of the outputs of `region`, given those of its inputs."""
        bits = dict(inputs)
        for op in region.ops:
            if holds_bodies(op) and region.cluster_of(op) is None:
                outputs = self._through_bodies(region, op, bits)
            elif op.type in {"Identity", "IdentityN"}:
                outputs = [bits.get(tensor.name, 0) for tensor in op.inputs]
            else:
                outputs = [self._through(region, op, bits)] * len(op.outputs)
            bits.update(zip((tensor.name for tensor in op.outputs), outputs))
        return [bits.get(tensor.name, 0) for tensor in region.outputs]

    def _through(self, region: Region, op: Operation, bits: Mapping[str, int]) -> int:
        taken = [(tensor, bits.get(tensor.name, 0)) for tensor in op.inputs]
        handles = _union(bit for tensor, bit in taken if is_resource(tensor))
        values = _union(bit for tensor, bit in taken if not is_resource(tensor))
        if handles and op.type in READS:
            return handles | values
        if op.type in AGREEMENTS:
            self.summed |= values
            return 0
        if not (op.op_def.is_stateful or side_of(region, op) is not Side.DEVICE):
            return values
        self.differ |= values & ~handles
        return 0

    def _through_bodies(self, region: Region, op: Operation, bits: Mapping[str, int]) -> list[int]:
        if op.type in IF | CASE:
            self.differ |= bits.get(op.inputs[0].name, 0)
        handed_in = [bits.get(tensor.name, 0) for tensor in arguments(op)]
        results: list[int] = []
        while results != handed_in:
            handed_in = results or handed_in
            held = [
                self.follow(body, dict(zip(body.inputs, handed_in))) for body in bodies(region, op)
            ]
            if op.type not in WHILE:
                return [_union(outputs) for outputs in zip(*held)]
            condition, carried = held
            self.differ |= _union(condition)
            results = [before | after for before, after in zip(handed_in, carried)]
        return results


def _union(bits: Iterable[int]) -> int:
    return functools.reduce(operator.or_, bits, 0)
