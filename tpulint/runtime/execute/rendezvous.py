"""Collectives under conditions: the replicas that have arrived, and those that never will.

The waiting itself is TensorFlow's (see exchanges). Operations of the graph report the rendezvous
that a replica is about to wait in, the branch of a conditional that it takes, and the rounds after
which it leaves a loop.

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
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.raising import call_python, token_for
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph
from tpulint.runtime.extract.collectives import Collective, Decision
from tpulint.runtime.extract.region import Iteration, Operation, RegionSite, Tensor
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.schedule.schedule import Rendezvous
from tpulint.runtime.source_location import operation_location


@dataclass(frozen=True)
class _LastDecision:
    """A replica's last decision at a site: its branch, or the rounds of its loop."""

    iteration: Iteration
    choice: int


class CollectiveTracker:
    """A thread-safe record; a replica reports on one site in the order of the iterations."""

    def __init__(self, collectives: Iterable[Collective], names: Sequence[str]) -> None:
        self._names = names
        self._collectives = {collective.site: collective for collective in collectives}
        self._below: dict[RegionSite, list[Collective]] = defaultdict(list)
        for collective in self._collectives.values():
            for decision in collective.decisions:
                self._below[decision.site].append(collective)
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Forget the previous step."""
        with self._lock:
            self._waiting: dict[RegionSite, dict[Iteration, set[int]]] = defaultdict(dict)
            self._taken: dict[tuple[RegionSite, int], _LastDecision] = {}

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
            # The next iteration begins with nobody there.
            arrived.difference_update(group)
            if not arrived:
                del self._waiting[site][iteration]
        return None

    def decide(
        self, site: RegionSite, replica: int, iteration: Iteration, choice: int
    ) -> DivergentCollectiveError | None:
        """Note a branch, or a loop's rounds; return the fault if a replica now waits forever."""
        with self._lock:
            # The last one is enough: a replica decides in the order of the iterations.
            self._taken[site, replica] = _LastDecision(iteration, choice)
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
        self, collective: Collective, iteration: Iteration, arrived: set[int], others: Iterable[int]
    ) -> DivergentCollectiveError | None:
        """Return the fault if any of `others` has not `arrived` at `collective` and never will."""
        for other in others if arrived else ():
            for decision in collective.decisions if other not in arrived else ():
                taken = self._taken.get((decision.site, other))
                why = taken and _why_never(decision, taken, iteration)
                if why:
                    waiting = min(arrived.intersection(collective.group_of(other)))
                    return _divergence(collective, self._wait(collective, waiting, other), why)
        return None

    def _wait(self, collective: Collective, replica: int, other: int) -> Wait:
        return Wait(
            self._names[replica],
            self._names[other],
            f"waits in {collective.op.type} '{collective.op.name}' for {self._names[other]}",
            operation_location(collective.op),
        )


def _why_never(decision: Decision, taken: _LastDecision, iteration: Iteration) -> str | None:
    """Say why a replica that has taken `taken`, and has not arrived in `iteration`, never will."""
    now = iteration[: decision.loops]
    # It has not come so far yet, or it is on its way to the collective.
    if taken.iteration < now or (taken.iteration == now and taken.choice == decision.branch):
        return None
    place = operation_location(decision.op)
    where = f"'{decision.op.name}'" + (f" ({place})" if place else "")
    if taken.iteration > now:
        return f"is in a later iteration of the loop around {where}"
    if decision.branch is None:
        times = "round" if taken.choice == 1 else "rounds"
        return f"has ended its loop {where} after {taken.choice} {times}"
    return f"has taken another branch of {where}"


def _divergence(collective: Collective, wait: Wait, why: str) -> DivergentCollectiveError:
    return DivergentCollectiveError(
        "Only some replicas reach a collective, the others never come\n"
        f"  {wait}\n  {wait.held_up_by}: {why}",
        place=wait.place,
        rule=collective.rule,
    )


class RendezvousReports:
    """The rendezvous of one step. One step runs at a time.

    Only those that replicas can miss are followed, unless `all_of_them` are wanted.
    """

    def __init__(
        self, all_rendezvous: Iterable[Rendezvous], names: Sequence[str], *, all_of_them: bool
    ) -> None:
        followed = [
            collective
            for collective in (rendezvous.first for rendezvous in all_rendezvous)
            if (collective.can_be_missed or all_of_them)
            and any(len(group) > 1 for group in collective.groups)
        ]
        self._sites = {collective.site for collective in followed}
        self._decisions = {
            decision.site for collective in followed for decision in collective.decisions
        }
        self._attendance = CollectiveTracker(followed, names)

    def begin(self) -> list[Operation]:
        """Return operations that forget the previous step."""
        return [call_python(self._attendance.begin)] if self._sites else []

    def report_arrival(
        self, site: RegionSite, images: TensorMap, waits_for: Sequence[Operation]
    ) -> list[Operation]:
        """Return operations that report a replica's arrival at the rendezvous at `site`."""
        if site not in self._sites:
            return []

        def arrive(replica: Any, iteration: Any) -> None:
            _raise_fault(self._attendance.arrive(site, int(replica), tuple(iteration.tolist())))

        with tf.control_dependencies(waits_for):
            return [call_python(arrive, _replica_and_iteration(images))]

    def report_decision(
        self,
        site: RegionSite,
        images: TensorMap,
        choice: Tensor,
        waits_for: Sequence[Operation] = (),
    ) -> list[Operation]:
        """Return operations that report the branch taken, or the rounds that a loop has made.

        They must run in an iteration before anything of the next one does.
        """
        if site not in self._decisions:
            return []

        def decide(replica: Any, iteration: Any, number: Any) -> None:
            now = tuple(iteration.tolist())
            _raise_fault(self._attendance.decide(site, int(replica), now, int(number)))

        with tf.control_dependencies(waits_for):
            return [call_python(decide, [*_replica_and_iteration(images), choice])]

    def waits(self) -> tuple[Wait, ...]:
        """Return the waits of replicas for others at this moment."""
        return self._attendance.waits()


def _raise_fault(fault: DivergentCollectiveError | None) -> None:
    if fault:
        raise token_for(fault)


def _replica_and_iteration(images: TensorMap) -> list[Tensor]:
    return [in_this_graph(images.replica), in_this_graph(images.iteration)]
