"""The collectives of a program: their sites, their groups, and the replicas that may not come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tpulint.runtime.extract.bodies import CASE, COLLECTIVES, IF, WHILE, bodies, is_call
from tpulint.runtime.extract.differing import differing, differing_inputs, differing_inside
from tpulint.runtime.extract.effects import is_resource
from tpulint.runtime.extract.groups import Groups, assigned_groups
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.extract.sites import RegionSite
from tpulint.runtime.extract.uniform import decides_alike, uniform, uniform_inside


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
    can_be_missed: bool
    """False if all replicas provably decide alike."""
    rule: str
    """The rule that is broken if only some replicas come: TPU306 if a condition around it depends
    on a replica's own inputs, else TPU305."""

    @property
    def comes_once(self) -> bool:
        """Return whether every replica comes once a step."""
        return not self.decisions

    def group_of(self, replica: int) -> tuple[int, ...]:
        """Return the replicas that `replica` meets here, itself among them."""
        return next(group for group in self.groups if replica in group)


@dataclass(frozen=True, eq=False)
class _Around:
    """The surroundings of a region: its site, its decisions, and the facts known of its inputs."""

    replicas: int
    given: frozenset[str]
    """The inputs that may differ between replicas."""
    uniform: frozenset[str]
    """The inputs that provably are the same in every replica."""
    site: RegionSite = ()
    loops: int = 0
    decisions: tuple[Decision, ...] = ()
    always: bool = True
    rule: str = "TPU305"


def collectives(program: ReplicatedProgram) -> Iterator[Collective]:
    """Return the collectives of `program`."""
    values = {name for name, tensors in program.boundary.items() if not is_resource(tensors[0])}
    given = differing_inputs(program)
    around = _Around(program.num_replicas, given, uniform=frozenset(values - given))
    return _collectives(program.region, around)


def _collectives(region: Region, around: _Around) -> Iterator[Collective]:
    own = differing(region, around.given)
    same = uniform(region, around.uniform)
    for op in region.ops:
        site = (*around.site, op.name)
        if op.type in COLLECTIVES:
            groups = _groups(op, around.replicas)
            yield Collective(site, op, groups, around.decisions, not around.always, around.rule)
        rule = around.rule
        if (op.type in IF | CASE and op.inputs[0].name in own) or _stops_apart(region, op, own):
            rule = "TPU306"
        for number, body in enumerate(bodies(region, op)):
            decisions, always = around.decisions, around.always
            if not is_call(op):
                branch = None if op.type in WHILE else number
                decisions = (*decisions, Decision(site, op, around.loops, branch))
                always = always and decides_alike(region, op, same)
            inside = replace(
                around,
                given=differing_inside(region, op, body, own),
                uniform=uniform_inside(region, op, body, same),
                site=(*site, number),
                loops=around.loops + (op.type in WHILE),
                decisions=decisions,
                always=always,
                rule=rule,
            )
            yield from _collectives(body, inside)


def _stops_apart(region: Region, op: Operation, own: frozenset[str]) -> bool:
    """Say if `op` is a loop that each replica leaves by its own data."""
    if op.type not in WHILE:
        return False
    condition = bodies(region, op)[0]
    given = differing_inside(region, op, condition, own)
    return condition.outputs[0].name in differing(condition, given)


def _groups(op: Operation, replicas: int) -> Groups:
    """Return the assigned groups, and a group of its own for each replica in none of them."""
    groups = assigned_groups(op)
    if not groups:
        return (tuple(range(replicas)),)
    together = {replica for group in groups for replica in group}
    return (*groups, *((replica,) for replica in range(replicas) if replica not in together))
