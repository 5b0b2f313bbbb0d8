"""Collectives under conditions: who has come, and who can never come any more.

The waiting itself is TensorFlow's (see hubs). A replica says here, before it waits, in which
meeting: a site and an iteration, whoever comes first. And it says which branch of a conditional it
takes, and after how many rounds it leaves a loop, where collectives stand in them. All replicas
run the same operations in the same order but for these decisions. So whenever some wait for ever
in collectives, the one that is first in program order is one that a member of its group has passed
by such a decision. To wait in another collective proves nothing: other operations may go on.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.places import Places, in_this_graph
from tpulint.runtime.execute.raising import ticket_for
from tpulint.runtime.execute.telling import told
from tpulint.runtime.execute.waits import Wait
from tpulint.runtime.extract.collectives import Collective, Decision
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.extract.sites import Iteration, Site
from tpulint.runtime.place import place_of_operation


@dataclass(frozen=True)
class _Taken:
    """What a replica has last decided at a site: its branch, or the rounds of its loop."""

    iteration: Iteration
    choice: int


class Meetings:
    """The collectives of one step in which replicas wait. One step runs at a time.

    Only those that replicas can miss are followed, unless `all_of_them` are wanted.
    """

    def __init__(self, collectives: Iterable[Collective], *, all_of_them: bool) -> None:
        self._followed = {
            one.site: one
            for one in collectives
            if (one.can_be_missed or all_of_them) and any(len(group) > 1 for group in one.groups)
        }
        self._below: dict[Site, list[Site]] = defaultdict(list)
        for one in self._followed.values():
            for decision in one.decisions:
                self._below[decision.site].append(one.site)
        self._lock = threading.Lock()
        self._begin()

    def begin(self) -> list[Operation]:
        """Operations of the graph that forget the step before."""
        return [told(self._begin)] if self._followed else []

    def arrives(
        self, site: Site, places: Places, waits_for: Sequence[Operation]
    ) -> list[Operation]:
        """Operations that tell that the replica of `places` has come to the collective `site`."""
        if site not in self._followed:
            return []

        def arrive(replica: Any, iteration: Any) -> None:
            self._arrive(site, int(replica), tuple(iteration.tolist()))

        with tf.control_dependencies(waits_for):
            return [told(arrive, _given(places))]

    def decides(
        self, site: Site, places: Places, choice: Tensor, waits_for: Sequence[Operation] = ()
    ) -> list[Operation]:
        """Operations that tell which branch is taken, or how many rounds a loop has made.

        They tell it in an iteration before anything of the next one runs.
        """
        if site not in self._below:
            return []

        def decide(replica: Any, iteration: Any, made: Any) -> None:
            self._decide(site, int(replica), _Taken(tuple(iteration.tolist()), int(made)))

        with tf.control_dependencies(waits_for):
            return [told(decide, [*_given(places), choice])]

    def waits(self) -> tuple[Wait, ...]:
        """Who waits for whom now."""
        with self._lock:
            return tuple(
                _wait(self._followed[site], replica, other)
                for site, meetings in self._waiting.items()
                for arrived in meetings.values()
                for replica in arrived
                for other in self._followed[site].group_of(replica)
                if other not in arrived
            )

    def _begin(self) -> None:
        with self._lock:
            self._waiting: dict[Site, dict[Iteration, set[int]]] = defaultdict(dict)
            self._taken: dict[tuple[Site, int], _Taken] = {}

    def _arrive(self, site: Site, replica: int, iteration: Iteration) -> None:
        meeting = self._followed[site]
        group = meeting.group_of(replica)
        with self._lock:
            arrived = self._waiting[site].setdefault(iteration, set())
            arrived.add(replica)
            missing = [other for other in group if other not in arrived]
            if not missing:
                arrived.difference_update(group)
                if not arrived:
                    del self._waiting[site][iteration]
            proof = next(self._proofs(meeting, iteration, missing), None)
        if proof:
            raise ticket_for(_divergence(meeting, replica, *proof))

    def _decide(self, site: Site, replica: int, taken: _Taken) -> None:
        with self._lock:
            self._taken[site, replica] = taken
            found = next(self._left_behind_by(site, replica), None)
        if found:
            raise ticket_for(_divergence(*found))

    def _left_behind_by(
        self, site: Site, replica: int
    ) -> Iterator[tuple[Collective, int, int, str]]:
        """The meetings below `site` in which somebody waits for `replica`, which never comes."""
        for below in self._below[site]:
            meeting = self._followed[below]
            for iteration, arrived in self._waiting[below].items():
                others = arrived.intersection(meeting.group_of(replica))
                if others and replica not in arrived:
                    for proof in self._proofs(meeting, iteration, [replica]):
                        yield meeting, min(others), *proof

    def _proofs(
        self, meeting: Collective, iteration: Iteration, missing: Iterable[int]
    ) -> Iterator[tuple[int, str]]:
        """Those of `missing`, who have not come to `meeting`, that never will, and why."""
        for replica in missing:
            for decision in meeting.decisions:
                taken = self._taken.get((decision.site, replica))
                why = taken and _why_never(decision, taken, iteration)
                if why:
                    yield replica, why


def _given(places: Places) -> list[Tensor]:
    return [in_this_graph(places.replica), in_this_graph(places.iteration)]


def _why_never(decision: Decision, taken: _Taken, iteration: Iteration) -> str | None:
    """Say why who has taken `taken`, and has not met in `iteration`, never will."""
    now = iteration[: decision.loops]
    name, place = decision.op.name, place_of_operation(decision.op)
    where = f"'{name}'" + (f" ({place})" if place else "")
    if taken.iteration > now:
        return f"is in a later iteration of the loop around {where}"
    if taken.iteration < now or taken.choice == decision.branch:
        return None
    if decision.branch is None:
        times = "round" if taken.choice == 1 else "rounds"
        return f"has ended its loop {where} after {taken.choice} {times}"
    return f"has taken another branch of {where}"


def _divergence(
    meeting: Collective, replica: int, absent: int, why: str
) -> DivergentCollectiveError:
    wait = _wait(meeting, replica, absent)
    return DivergentCollectiveError(
        "Only some replicas reach a collective, the others never come\n"
        f"  {wait}\n  {wait.held_up_by}: {why}",
        place=wait.place,
        rule=meeting.rule,
    )


def _wait(meeting: Collective, replica: int, other: int) -> Wait:
    return Wait(
        f"replica {replica}",
        f"replica {other}",
        f"waits in {meeting.op.type} '{meeting.op.name}' for replica {other}",
        place_of_operation(meeting.op),
    )
