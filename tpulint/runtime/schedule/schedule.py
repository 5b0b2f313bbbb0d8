"""The schedule of a step: host clusters before, the device programs, host clusters after."""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.runtime.errors import RuntimeFaultWarning
from tpulint.runtime.extract.collectives import find_collectives
from tpulint.runtime.extract.program import ReplicatedProgram, find_feeds
from tpulint.runtime.extract.region import Operation, Region, key_of, needed_operations
from tpulint.runtime.extract.segments import part_of_region
from tpulint.runtime.schedule.locks import AccessSchedule, schedule_accesses
from tpulint.runtime.schedule.meetings import Meeting, meetings
from tpulint.runtime.schedule.options import Options
from tpulint.runtime.schedule.plan import Plan, plan
from tpulint.runtime.schedule.unordered import warning_of
from tpulint.runtime.schedule.variables import (
    TouchedVariable,
    UnsynchronizedVariable,
    unsynchronized_variables,
    variables_of,
)


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
    meetings: tuple[Meeting, ...]
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
        plan(one, access_schedule.queued) for one in _parts(program.region, access_schedule)
    )
    return Schedule(
        program=program,
        options=options,
        access_schedule=access_schedule,
        before=before,
        during=during,
        after=after,
        copied=tuple(one for one in variables if one.is_copied(program.num_replicas, options)),
        unsynchronized=unsynchronized_variables(program, variables),
        meetings=tuple(meetings((before, during, after), find_collectives(program))),
        feeds=find_feeds(program.region),
        warnings=(*access_schedule.warnings, *map(warning_of, program.unordered)),
    )


def _parts(region: Region, access_schedule: AccessSchedule) -> tuple[Region, Region, Region]:
    """Return the parts of `region` that run before the device program, with it, and after it."""
    by_name = {op.name: op for op in region.ops}
    early = needed_operations(
        (op for op in region.ops if key_of(region, op) in access_schedule.before),
        lambda op: op.name in by_name and region.cluster_of(op) is not None,
    )
    late = {op.name for op in region.ops if key_of(region, op) in access_schedule.after}
    for op in region.ops:
        if op.type == "Identity" and op.inputs[0].op.name in late:
            late.add(op.name)
    return (
        part_of_region(region, lambda op: op.name in early),
        part_of_region(region, lambda op: op.name not in early and op.name not in late),
        part_of_region(region, lambda op: op.name in late),
    )
