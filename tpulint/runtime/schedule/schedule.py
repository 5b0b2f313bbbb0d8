"""The schedule of a step: host clusters before, the device programs, host clusters after.

Each of the three has a plan: the segments of a region, in an order in which they can be built.
Where replicas wait for one another in a segment of collectives, that is a rendezvous.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tpulint.runtime import errors
from tpulint.runtime.emulator import Options
from tpulint.runtime.extract.bodies import READS, bodies, holds_bodies
from tpulint.runtime.extract.collectives import (
    Collective,
    assigned_groups,
    equal_draws,
    find_collectives,
)
from tpulint.runtime.extract.order import UnorderedAccesses, order_operations
from tpulint.runtime.extract.program import ReplicatedProgram, find_feeds
from tpulint.runtime.extract.region import (
    Key,
    Operation,
    Region,
    RegionSite,
    key_of,
    needed_operations,
)
from tpulint.runtime.extract.segments import (
    Segment,
    Side,
    create_lists_late,
    cut_into_segments,
    operations_on_crossing_lists,
    part_of_region,
    side_of,
)
from tpulint.runtime.schedule.locks import AccessSchedule, schedule_accesses
from tpulint.runtime.schedule.variables import (
    TouchedVariable,
    UnsynchronizedVariables,
    unsynchronized_variables,
    variables_of,
)
from tpulint.runtime.source_location import is_made_by_user, operation_location


@dataclass(frozen=True, eq=False)
class Plan:
    """The segments of `region`; `before` names for each operation those that must run first.

    Constants are in every segment that takes them, and in no order.
    """

    region: Region
    segments: tuple[Segment, ...]
    before: Mapping[str, frozenset[str]]
    nested: Mapping[str, tuple[Plan, ...]] = field(default_factory=dict)
    """The plans of the bodies of each operation that holds both sides, by its name."""
    deferred: Plan | None = None
    """The operations of the body that run only when the device program has ended."""


def is_of_device(planned: Plan) -> bool:
    """Return whether no segment of `planned`, and of the bodies in it, is of the host or a feed."""
    return planned.deferred is None and all(
        segment.side not in (Side.HOST, Side.FEED)
        and all(map(is_of_device, planned.nested.get(segment.ops[0].name, ())))
        for segment in planned.segments
    )


def plan_region(region: Region, deferred: Container[Key] = ()) -> Plan:
    """Cut `region` and the bodies in it; operations in `deferred` are planned apart."""
    late = [op for op in region.ops if key_of(region, op) in deferred]
    later = plan_region(part_of_region(region, late.__contains__)) if late else None
    if late:
        region = part_of_region(region, lambda op: op not in late)
    planned = _cut_around_lists(region)
    nested = {
        op.name: tuple(plan_region(body, deferred) for body in bodies(region, op))
        for segment in planned.segments
        if segment.side is Side.CONTROL
        for op in segment.ops
    }
    return replace(planned, nested=nested, deferred=later)


def _cut_around_lists(region: Region) -> Plan:
    """Cut `region` so that no list enters or leaves a segment that is compiled.

    Operations that are not compiled divide the others further, so that more lists may cross.
    """
    sides = {op.name: side_of(region, op) for op in region.ops}
    while True:
        planned = _cut(region, sides)
        crossing = operations_on_crossing_lists(region, planned.segments)
        # The lists of one array follow it out of the compiled program, until no more cross.
        plain = {name: Side.PLAIN for name in crossing if sides[name] is Side.DEVICE}
        if not plain:
            return planned
        sides |= plain


def _cut(region: Region, sides: Mapping[str, Side]) -> Plan:
    def side(op: Operation) -> Side:
        return sides[op.name]

    rendezvous: dict[str, Hashable] = {
        op.name: (op.type, assigned_groups(op)) for op in region.ops if side(op) is Side.COLLECTIVE
    }

    def kind(op: Operation) -> Hashable:
        name: str = op.name
        return rendezvous.get(name, name)

    constants = frozenset(op.name for op in region.ops if op.type == "Const")
    ordered = order_operations(region, side)
    before = {name: earlier - constants for name, earlier in ordered.items()}
    rest = [op for op in region.ops if op.name not in constants]
    cut = cut_into_segments(rest, before, side, region.cluster_of, kind)
    segments = create_lists_late(cut, before)
    return Plan(region, tuple(with_constants(segment) for segment in segments), before)


def with_constants(segment: Segment) -> Segment:
    """Return `segment` with the constants that its operations take."""
    # These take constants where they are built.
    if segment.side in (Side.CONTROL, Side.COLLECTIVE, Side.FEED):
        return segment
    constants = {
        tensor.op.name: tensor.op
        for op in segment.ops
        for tensor in op.inputs
        if tensor.op.type == "Const"
    }
    return replace(segment, ops=(*constants.values(), *segment.ops))


Rendezvous = tuple[Collective, ...]
"""Collectives of one segment, which are of one kind and of the same groups. The first one stands
for all: a replica comes to all of them or to none."""


def _sites(planned: Plan, around: RegionSite) -> Iterator[list[RegionSite]]:
    """Yield the sites of the collectives of each rendezvous in `planned`."""
    for segment in planned.segments:
        if segment.side is Side.COLLECTIVE:
            yield [(*around, op.name) for op in segment.ops]
        for op in segment.ops if segment.side is Side.CONTROL else ():
            for number, body in enumerate(planned.nested[op.name]):
                yield from _sites(body, (*around, op.name, number))


def unordered_access_warning(accesses: UnorderedAccesses) -> errors.UnorderedAccessWarning:
    """Return the warning about `accesses`."""
    first, second = _access(accesses.first), _access(accesses.second)
    return errors.UnorderedAccessWarning(
        f"Nothing orders two accesses of the variable '{accesses.variable}' in a conditional: "
        f"{first}, and {second}. Here they run in the order in which TensorFlow's passes compile "
        "them; if Grappler is on it may be the other. A control dependency between them decides",
        place=operation_location(accesses.second) or operation_location(accesses.first),
    )


def equal_draw_warnings(program: ReplicatedProgram) -> Iterator[errors.EqualRandomNumbersWarning]:
    """Yield a warning for each line that draws the same random numbers on all replicas.

    A layer of a library draws them for reasons of its own, such as one mask for all.
    """
    draws = filter(is_made_by_user, equal_draws(program))
    for place in dict.fromkeys(map(operation_location, draws)):
        yield errors.EqualRandomNumbersWarning(
            f"All {program.num_replicas} replicas draw the same random numbers here, because the "
            "seed is the same on all of them. Add the replica's id to it "
            "(`tf.distribute.get_replica_context().replica_id_in_sync_group`), or use a "
            "`tf.random.Generator` that was created under the scope",
            place=place,
        )


def _access(op: Operation) -> str:
    does = "a read" if op.type in READS else "a write"
    if holds_bodies(op):
        does = "inner control flow"
    place = operation_location(op)
    return f"{does} '{op.name}'" + (f" at {place}" if place else "")


@dataclass(frozen=True, eq=False)
class Schedule:
    """The order in which a program runs, decided before anything is built."""

    program: ReplicatedProgram
    options: Options
    access_schedule: AccessSchedule
    before: Plan
    """The host clusters that run before the device program."""
    during: Plan
    """The device program, and the host clusters that run with it."""
    after: Plan
    """The host clusters that run when the device program has ended."""
    copied: tuple[TouchedVariable, ...]
    """The variables of which each replica's device program has a copy of its own."""
    unsynchronized: UnsynchronizedVariables
    """The strategy's variables whose copies are compared after the step, and uses of others."""
    rendezvous: tuple[Rendezvous, ...]
    feeds: frozenset[Operation]
    """The infeed and outfeed operations."""
    warnings: tuple[errors.RuntimeFaultWarning, ...]

    @property
    def is_of_device(self) -> bool:
        """Whether no part of the program runs on the host."""
        around = (*self.before.region.ops, *self.after.region.ops)
        return not around and is_of_device(self.during)


def schedule(program: ReplicatedProgram, options: Options) -> Schedule:
    """Decide the order in which `program` runs.

    Raises:
        DeviceVariableError: a host cluster touches a variable of a strategy.
    """
    variables = variables_of(program)
    access_schedule = schedule_accesses(program.region, variables, options)
    collectives = {collective.site: collective for collective in find_collectives(program)}
    before, during, after = (
        plan_region(region, access_schedule.queued)
        for region in _parts(program.region, access_schedule)
    )
    return Schedule(
        program=program,
        options=options,
        access_schedule=access_schedule,
        before=before,
        during=during,
        after=after,
        copied=tuple(
            variable for variable in variables if variable.is_copied(program.num_replicas, options)
        ),
        unsynchronized=unsynchronized_variables(program, variables),
        rendezvous=tuple(
            tuple(collectives[site] for site in sites)
            for plan in (before, during, after)
            for sites in _sites(plan, ())
        ),
        feeds=find_feeds(program.region),
        warnings=(
            *access_schedule.warnings,
            *map(unordered_access_warning, program.unordered),
            *equal_draw_warnings(program),
        ),
    )


def _parts(region: Region, access_schedule: AccessSchedule) -> tuple[Region, Region, Region]:
    """Return the parts of `region` that run before the device program, with it, and after it."""
    by_name = {op.name: op for op in region.ops}
    # With what these need of other clusters, which are heads too.
    early = needed_operations(
        (op for op in region.ops if key_of(region, op) in access_schedule.before),
        lambda op: op.name in by_name and region.cluster_of(op) is not None,
    )
    late = {op.name for op in region.ops if key_of(region, op) in access_schedule.after}
    # It hands a tail's result out of the computation, so it follows the tail.
    for op in region.ops:
        if op.type == "Identity" and op.inputs[0].op.name in late:
            late.add(op.name)
    return (
        part_of_region(region, lambda op: op.name in early),
        part_of_region(region, lambda op: op.name not in early and op.name not in late),
        part_of_region(region, lambda op: op.name in late),
    )
