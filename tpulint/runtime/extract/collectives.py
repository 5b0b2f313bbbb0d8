"""The collectives of a program: their sites, their groups, and the replicas that may not come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tpulint.ordering.operations import COLLECTIVES, rule_of_divergence
from tpulint.ordering.truth import Truth, all3
from tpulint.runtime.extract.agreement import (
    Agreements,
    agreement_on_decision,
    agreements,
    agreements_in_body,
    agreements_on_inputs,
)
from tpulint.runtime.extract.bodies import WHILE, bodies, is_call
from tpulint.runtime.extract.groups import Groups, assigned_groups
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.extract.sites import RegionSite


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


@dataclass(frozen=True, eq=False)
class _Around:
    """The surroundings of a region: its site, its decisions, and the agreements on its inputs."""

    replicas: int
    inputs: Agreements
    site: RegionSite = ()
    loops: int = 0
    decisions: tuple[Decision, ...] = ()
    alike: Truth = Truth.YES
    """Whether all replicas decide alike."""


def collectives(program: ReplicatedProgram) -> Iterator[Collective]:
    """Return the collectives of `program`."""
    around = _Around(program.num_replicas, agreements_on_inputs(program))
    return _collectives(program.region, around)


def _collectives(region: Region, around: _Around) -> Iterator[Collective]:
    known = agreements(region, around.inputs)
    for op in region.ops:
        site = (*around.site, op.name)
        if op.type in COLLECTIVES:
            groups = _groups(op, around.replicas)
            yield Collective(site, op, groups, around.decisions, around.alike)
        held = bodies(region, op)
        is_decision = bool(held) and not is_call(op)
        alike = around.alike
        if is_decision:
            alike = all3([alike, agreement_on_decision(region, op, known)])
        for number, body in enumerate(held):
            branch = None if op.type in WHILE else number
            decision = Decision(site, op, around.loops, branch)
            inside = replace(
                around,
                inputs=agreements_in_body(region, op, body, known),
                site=(*site, number),
                loops=around.loops + (op.type in WHILE),
                decisions=(*around.decisions, decision) if is_decision else around.decisions,
                alike=alike,
            )
            yield from _collectives(body, inside)


def _groups(op: Operation, replicas: int) -> Groups:
    """Return the assigned groups, and a group of its own for each replica in none of them."""
    groups = assigned_groups(op)
    if not groups:
        return (tuple(range(replicas)),)
    together = {replica for group in groups for replica in group}
    return (*groups, *((replica,) for replica in range(replicas) if replica not in together))
