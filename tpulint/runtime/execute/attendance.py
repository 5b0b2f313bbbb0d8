"""The replicas that have arrived at each rendezvous, and those that never will.

A rendezvous is a collective's site and an iteration; the order of arrival does not matter. All
replicas run the same operations in the same order, apart from the branches that they take and the
rounds that their loops make. So whenever some wait forever in collectives, the first of these in
program order is one that a member of its group has passed by such a decision: that alone is proof.
Waiting in another collective proves nothing, as other operations of the replica may go on.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.extract.collectives import Collective, Decision
from tpulint.runtime.extract.region import Iteration, RegionSite
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import place_of_operation


@dataclass(frozen=True)
class _Taken:
    """A replica's last decision at a site: its branch, or the rounds of its loop."""

    iteration: Iteration
    choice: int


class Attendance:
    """A thread-safe record; a replica reports on one site in the order of the iterations."""

    def __init__(self, collectives: Iterable[Collective], names: Sequence[str]) -> None:
        self._names = names
        self._collectives = {one.site: one for one in collectives}
        self._below: dict[RegionSite, list[Collective]] = defaultdict(list)
        for one in self._collectives.values():
            for decision in one.decisions:
                self._below[decision.site].append(one)
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Forget the previous step."""
        with self._lock:
            self._waiting: dict[RegionSite, dict[Iteration, set[int]]] = defaultdict(dict)
            self._taken: dict[tuple[RegionSite, int], _Taken] = {}

    def arrive(
        self, site: RegionSite, replica: int, iteration: Iteration
    ) -> DivergentCollectiveError | None:
        """Note that `replica` waits at `site`; return the fault if it would wait forever."""
        collective = self._collectives[site]
        group = collective.group_of(replica)
        with self._lock:
            arrived = self._waiting[site].setdefault(iteration, set())
            arrived.add(replica)
            if not arrived.issuperset(group):
                return self._fault(collective, iteration, arrived, group)
            arrived.difference_update(group)
            if not arrived:
                del self._waiting[site][iteration]
        return None

    def decide(
        self, site: RegionSite, replica: int, iteration: Iteration, choice: int
    ) -> DivergentCollectiveError | None:
        """Note a branch, or a loop's rounds; return the fault if a replica now waits forever."""
        with self._lock:
            self._taken[site, replica] = _Taken(iteration, choice)
            faults = (
                self._fault(below, waits_in, arrived.intersection(group), [replica])
                for below in self._below[site]
                for group in [below.group_of(replica)]
                for waits_in, arrived in self._waiting[below.site].items()
            )
            return next((fault for fault in faults if fault), None)

    def waits(self) -> tuple[Wait, ...]:
        """Return the waits of replicas for others at this moment."""
        with self._lock:
            return tuple(
                self._wait(self._collectives[site], replica, other)
                for site, rendezvous in self._waiting.items()
                for arrived in rendezvous.values()
                for replica in arrived
                for other in self._collectives[site].group_of(replica)
                if other not in arrived
            )

    def _fault(
        self, one: Collective, iteration: Iteration, arrived: set[int], others: Iterable[int]
    ) -> DivergentCollectiveError | None:
        """Return the fault if any of `others` has not `arrived` at `one` and never will."""
        for other in others if arrived else ():
            for decision in one.decisions if other not in arrived else ():
                taken = self._taken.get((decision.site, other))
                why = taken and _why_never(decision, taken, iteration)
                if why:
                    waiting = min(arrived.intersection(one.group_of(other)))
                    return _divergence(one, self._wait(one, waiting, other), why)
        return None

    def _wait(self, one: Collective, replica: int, other: int) -> Wait:
        return Wait(
            self._names[replica],
            self._names[other],
            f"waits in {one.op.type} '{one.op.name}' for {self._names[other]}",
            place_of_operation(one.op),
        )


def _why_never(decision: Decision, taken: _Taken, iteration: Iteration) -> str | None:
    """Say why a replica that has taken `taken`, and did not meet in `iteration`, never will."""
    now = iteration[: decision.loops]
    if taken.iteration < now or (taken.iteration == now and taken.choice == decision.branch):
        return None
    place = place_of_operation(decision.op)
    where = f"'{decision.op.name}'" + (f" ({place})" if place else "")
    if taken.iteration > now:
        return f"is in a later iteration of the loop around {where}"
    if decision.branch is None:
        times = "round" if taken.choice == 1 else "rounds"
        return f"has ended its loop {where} after {taken.choice} {times}"
    return f"has taken another branch of {where}"


def _divergence(one: Collective, wait: Wait, why: str) -> DivergentCollectiveError:
    return DivergentCollectiveError(
        "Only some replicas reach a collective, the others never come\n"
        f"  {wait}\n  {wait.held_up_by}: {why}",
        place=wait.place,
        rule=one.rule,
    )
