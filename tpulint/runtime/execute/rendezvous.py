"""Collectives under conditions: operations of the graph that report arrivals and decisions.

The waiting itself is TensorFlow's (see exchanges). A replica reports here the rendezvous that it
is about to wait in, the branch of a conditional that it takes, and the rounds after which it leaves
a loop. The attendance draws the conclusions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.attendance import Attendance
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.raising import ticket_for
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph
from tpulint.runtime.extract.region import Operation, RegionSite, Tensor
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.schedule.plan import Rendezvous


class RendezvousReports:
    """The meetings of one step in which replicas wait. One step runs at a time.

    Only those that replicas can miss are followed, unless `all_of_them` are wanted.
    """

    def __init__(
        self, meetings: Iterable[Rendezvous], names: Sequence[str], *, all_of_them: bool
    ) -> None:
        followed = [
            one
            for one in (meeting.first for meeting in meetings)
            if (one.can_be_missed or all_of_them) and any(len(group) > 1 for group in one.groups)
        ]
        self._sites = {one.site for one in followed}
        self._decisions = {decision.site for one in followed for decision in one.decisions}
        self._attendance = Attendance(followed, names)

    def begin(self) -> list[Operation]:
        """Return operations that forget the previous step."""
        return [call_python(self._attendance.begin)] if self._sites else []

    def arrives(
        self, site: RegionSite, images: TensorMap, waits_for: Sequence[Operation]
    ) -> list[Operation]:
        """Return operations that report a replica's arrival at the meeting at `site`."""
        if site not in self._sites:
            return []

        def arrive(replica: Any, iteration: Any) -> None:
            _raise(self._attendance.arrive(site, int(replica), tuple(iteration.tolist())))

        with tf.control_dependencies(waits_for):
            return [call_python(arrive, _given(images))]

    def decides(
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

        def decide(replica: Any, iteration: Any, made: Any) -> None:
            now = tuple(iteration.tolist())
            _raise(self._attendance.decide(site, int(replica), now, int(made)))

        with tf.control_dependencies(waits_for):
            return [call_python(decide, [*_given(images), choice])]

    def waits(self) -> tuple[Wait, ...]:
        """Return the waits of replicas for others at this moment."""
        return self._attendance.waits()


def _raise(fault: DivergentCollectiveError | None) -> None:
    if fault:
        raise ticket_for(fault)


def _given(images: TensorMap) -> list[Tensor]:
    return [in_this_graph(images.replica), in_this_graph(images.iteration)]
