"""The plan of a region: its segments, in an order in which they can be built.

Where replicas wait for one another in a segment of collectives, that is a rendezvous.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.collectives import Collective, assigned_groups
from tpulint.runtime.extract.order import order_operations
from tpulint.runtime.extract.region import Key, Operation, Region, RegionSite, key_of
from tpulint.runtime.extract.segments import (
    Segment,
    Side,
    create_lists_late,
    cut_into_segments,
    operations_on_crossing_lists,
    part_of_region,
    side_of,
)


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
    segments = create_lists_late(
        cut_into_segments(rest, before, side, region.cluster_of, kind), before
    )
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


@dataclass(frozen=True, eq=False)
class Rendezvous:
    """Collectives of one segment, which are of one kind and of the same groups."""

    collectives: tuple[Collective, ...]

    @property
    def first(self) -> Collective:
        """Return the collective that stands for all: a replica comes to all of them or to none."""
        return self.collectives[0]


def find_rendezvous(
    planned: Iterable[Plan], collectives: Iterable[Collective]
) -> Iterator[Rendezvous]:
    """Return the rendezvous of the parts `planned` of a program, which has these `collectives`."""
    by_site = {collective.site: collective for collective in collectives}
    for plan in planned:
        for sites in _sites(plan, ()):
            yield Rendezvous(tuple(by_site[site] for site in sites))


def _sites(planned: Plan, around: RegionSite) -> Iterator[list[RegionSite]]:
    for segment in planned.segments:
        if segment.side is Side.COLLECTIVE:
            yield [(*around, op.name) for op in segment.ops]
        for op in segment.ops if segment.side is Side.CONTROL else ():
            for number, body in enumerate(planned.nested[op.name]):
                yield from _sites(body, (*around, op.name, number))
