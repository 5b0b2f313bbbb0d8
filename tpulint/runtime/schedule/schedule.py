"""The schedule of a step: host clusters before, the device programs, host clusters after."""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.runtime.errors import RuntimeFaultWarning, UnorderedAccessWarning
from tpulint.runtime.extract.bodies import READS, function_names
from tpulint.runtime.extract.collectives import find_collectives
from tpulint.runtime.extract.order import UnorderedAccesses
from tpulint.runtime.extract.program import ReplicatedProgram, find_feeds
from tpulint.runtime.extract.region import Operation, Region, key_of, needed_operations
from tpulint.runtime.extract.segments import part_of_region
from tpulint.runtime.schedule.locks import AccessSchedule, schedule_accesses
from tpulint.runtime.schedule.plan import Plan, Rendezvous, find_rendezvous, plan_region
from tpulint.runtime.schedule.variables import (
    Options,
    TouchedVariable,
    UnsynchronizedVariable,
    unsynchronized_variables,
    variables_of,
)
from tpulint.runtime.source_location import operation_location


def unordered_access_warning(accesses: UnorderedAccesses) -> UnorderedAccessWarning:
    """Return the warning about `accesses`."""
    first, second = _access(accesses.first), _access(accesses.second)
    return UnorderedAccessWarning(
        f"Nothing orders two accesses of the variable '{accesses.variable}' in a conditional: "
        f"{first}, and {second}. Here they run in the order in which TensorFlow's passes compile "
        "them; if Grappler is on it may be the other. A control dependency between them decides",
        place=operation_location(accesses.second) or operation_location(accesses.first),
    )


def _access(op: Operation) -> str:
    if function_names(op.graph, op.node_def):
        does = "inner control flow"
    else:
        does = "a read" if op.type in READS else "a write"
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
    unsynchronized: tuple[UnsynchronizedVariable, ...]
    """The strategy's variables whose copies are compared after the step."""
    rendezvous: tuple[Rendezvous, ...]
    feeds: frozenset[Operation]
    """The infeed and outfeed operations."""
    warnings: tuple[RuntimeFaultWarning, ...]


def schedule(program: ReplicatedProgram, options: Options) -> Schedule:
    """Decide the order in which `program` runs.

    Raises:
        DeviceVariableError: a host cluster touches a variable of a strategy.
    """
    variables = variables_of(program)
    access_schedule = schedule_accesses(program.region, variables, options)
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
        rendezvous=tuple(find_rendezvous((before, during, after), find_collectives(program))),
        feeds=find_feeds(program.region),
        warnings=(*access_schedule.warnings, *map(unordered_access_warning, program.unordered)),
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
