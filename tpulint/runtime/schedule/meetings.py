"""The meetings of replicas: the collectives for which they wait at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tpulint.runtime.extract.collectives import Collective
from tpulint.runtime.extract.region import RegionSite
from tpulint.runtime.extract.segments import Side
from tpulint.runtime.schedule.plan import Plan


@dataclass(frozen=True, eq=False)
class Meeting:
    """Collectives of one segment, which are of one kind and of the same groups."""

    collectives: tuple[Collective, ...]

    @property
    def first(self) -> Collective:
        """Return the collective that stands for all: a replica comes to all of them or to none."""
        return self.collectives[0]


def meetings(planned: Iterable[Plan], collectives: Iterable[Collective]) -> Iterator[Meeting]:
    """Return the meetings of the parts `planned` of a program, which has these `collectives`."""
    by_site = {one.site: one for one in collectives}
    for plan in planned:
        for sites in _sites(plan, ()):
            yield Meeting(tuple(by_site[site] for site in sites))


def _sites(planned: Plan, around: RegionSite) -> Iterator[list[RegionSite]]:
    for segment in planned.segments:
        if segment.side is Side.COLLECTIVE:
            yield [(*around, op.name) for op in segment.ops]
        for op in segment.ops if segment.side is Side.CONTROL else ():
            for number, body in enumerate(planned.nested[op.name]):
                yield from _sites(body, (*around, op.name, number))
