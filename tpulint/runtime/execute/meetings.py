"""Collectives under conditions: who has come, who waits for whom, and who will never come.

The waiting itself is TensorFlow's (see collectives). Each replica only says here, before it waits,
where it is, and at its end, that it is through.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.places import in_this_graph
from tpulint.runtime.execute.raising import ticket_for
from tpulint.runtime.execute.telling import told
from tpulint.runtime.execute.waits import Wait, WaitGraph
from tpulint.runtime.extract.collectives import Collective
from tpulint.runtime.extract.region import Key, Operation, Tensor
from tpulint.runtime.place import place_of_operation


class Meetings:
    """The collectives of one step that replicas may miss. One step runs at a time."""

    def __init__(self, meetings: Sequence[Collective], replicas: int) -> None:
        self._by_key = {one.key: one for one in meetings if not one.always and replicas > 1}
        self._lock = threading.Lock()
        self._begin()

    def begin(self) -> list[Operation]:
        """Operations of the graph that forget the step before."""
        return [told(self._begin)] if self._by_key else []

    def arrives(self, key: Key, replica: Tensor, waits_for: Sequence[Operation]) -> list[Operation]:
        """Operations that tell that `replica` has come to the collective `key`."""
        if key not in self._by_key:
            return []
        with tf.control_dependencies(waits_for):
            return [told(lambda number: self._arrive(key, int(number)), [in_this_graph(replica)])]

    def ends(self, replica: Tensor, waits_for: Sequence[Operation]) -> list[Operation]:
        """Operations that tell that `replica` comes to no collective any more."""
        if not self._by_key:
            return []
        with tf.control_dependencies(waits_for):
            return [told(lambda number: self._end(int(number)), [in_this_graph(replica)])]

    def waits(self) -> tuple[Wait, ...]:
        """Who waits for whom now."""
        return self._waits.all()

    def _begin(self) -> None:
        with self._lock:
            self._waits = WaitGraph()
            self._times: Counter[tuple[Key, int]] = Counter()
            self._ended: set[int] = set()
            self._rules: dict[str, str] = {}

    def _arrive(self, key: Key, replica: int) -> None:
        meeting = self._by_key[key]
        group = next((group for group in meeting.groups if replica in group), (replica,))
        with self._lock:
            self._times[key, replica] += 1
            self._rules[_lane(replica)] = meeting.rule
            time = self._times[key, replica]
            missing = [other for other in group if self._times[key, other] < time]
            waits = [_wait(meeting, replica, other) for other in missing]
            for other in group:
                if other != replica and self._times[key, other] == time and not missing:
                    self._waits.remove(_lane(other))
            cycle = self._waits.add(*waits)
            gone = [
                wait for wait, other in zip(waits, missing, strict=True) if other in self._ended
            ]
        if cycle or gone:
            raise ticket_for(self._divergence(cycle or gone[:1], gone))

    def _end(self, replica: int) -> None:
        with self._lock:
            self._ended.add(replica)
            left = [wait for wait in self._waits.all() if wait.held_up_by == _lane(replica)]
        if left:
            raise ticket_for(self._divergence(left, left))

    def _divergence(self, waits: Sequence[Wait], gone: Sequence[Wait]) -> DivergentCollectiveError:
        lines = [f"  {wait}" for wait in waits]
        lines += [f"  {wait.held_up_by}: has ended without it" for wait in gone[:1]]
        return DivergentCollectiveError(
            "Only some replicas reach a collective, the others never come\n" + "\n".join(lines),
            place=waits[0].place,
            rule=max(self._rules[wait.lane] for wait in waits),
        )


def _lane(replica: int) -> str:
    return f"replica {replica}"


def _wait(meeting: Collective, replica: int, other: int) -> Wait:
    return Wait(
        _lane(replica),
        _lane(other),
        f"waits in {meeting.op.type} '{meeting.op.name}' for replica {other}",
        place_of_operation(meeting.op),
    )
