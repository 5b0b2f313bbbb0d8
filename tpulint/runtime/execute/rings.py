"""The queues through which replicas meet: for each site of a collective one a replica, in rings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.execute.places import Places, in_this_graph
from tpulint.runtime.extract.collectives import Collective
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.extract.sites import Site

_names = itertools.count()


@dataclass(frozen=True, eq=False)
class Seat:
    """A replica's place in a collective: queues, its rank in its group, the group's size."""

    before: Tensor
    after: Tensor
    rank: Tensor
    size: Tensor


class Rings:
    """The queues of one step, all in one tensor. One step runs at a time.

    A step that fails leaves in them what nobody has taken. It also leaves the mark of a step that
    runs, by which the next one sees that it has to empty them.
    """

    def __init__(self, collectives: Iterable[Collective], replicas: int) -> None:
        self._replicas = replicas
        # Those of one dtype stand side by side, so that one loop can empty them.
        self._collectives = sorted(
            (one for one in collectives if any(len(group) > 1 for group in one.groups)),
            key=lambda one: _dtype(one).as_datatype_enum,
        )
        self._place = {one.site: place for place, one in enumerate(self._collectives)}
        self._name = f"tpulint_rings_{next(_names)}"

    def queues(self) -> Tensor | None:
        """The queues of all sites, site by site, each of the replica that puts into it."""
        if not self._collectives:
            return None
        return tf.stack(
            [
                _queue(_dtype(one), f"{self._name}_{place}_{replica}")
                for place, one in enumerate(self._collectives)
                for replica in range(self._replicas)
            ]
        )

    def begin(self, queues: Tensor | None) -> list[Operation]:
        """Operations that empty the queues of a step that failed."""
        if queues is None:
            return []
        running = self._running()
        left = tf.raw_ops.QueueSizeV2(handle=running)
        emptied = tf.cond(left > 0, lambda: self._emptied(queues), lambda: tf.constant(True))
        with tf.control_dependencies([emptied]):
            return [_put_mark(running)]

    def end(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Operations that note that the step has left nothing behind."""
        if not self._collectives:
            return []
        with tf.control_dependencies(waits_for):
            return [_take(self._running(), tf.bool).op]

    def seat(self, site: Site, places: Places) -> Seat | None:
        """The seat of the replica of `places` at `site`; None where nobody meets anybody."""
        if site not in self._place:
            return None
        replica, queues = in_this_graph(places.replica), in_this_graph(places.queues)
        table = {
            member: (group[rank - 1], rank, len(group))
            for group in self._collectives[self._place[site]].groups
            for rank, member in enumerate(group)
        }
        before, rank, size = tf.unstack(
            tf.constant([table[one] for one in range(self._replicas)])[replica]
        )
        first = self._place[site] * self._replicas
        return Seat(
            tf.gather(queues, first + before), tf.gather(queues, first + replica), rank, size
        )

    def _running(self) -> Tensor:
        """The queue that holds a mark for each step that has begun and not ended."""
        return _queue(tf.bool, f"{self._name}_running")

    def _emptied(self, queues: Tensor) -> Tensor:
        done = _empty(self._running(), tf.bool)
        dtypes = [_dtype(one) for one in self._collectives]
        for dtype in dict.fromkeys(dtypes):
            first = dtypes.index(dtype) * self._replicas
            end = first + dtypes.count(dtype) * self._replicas
            with tf.control_dependencies([done]):
                done = _empty_all(queues, first, end, dtype)
        return done


def _empty_all(queues: Tensor, first: int, end: int, dtype: tf.DType) -> Tensor:
    def empty_one(place: Tensor) -> Tensor:
        with tf.control_dependencies([_empty(tf.gather(in_this_graph(queues), place), dtype)]):
            return place + 1

    place = tf.while_loop(lambda place: place < end, empty_one, [first], parallel_iterations=1)
    return tf.equal(_only(place), end)


def _empty(queue: Tensor, dtype: tf.DType) -> Tensor:
    def take_one(_: Tensor) -> Tensor:
        with tf.control_dependencies([_take(in_this_graph(queue), dtype)]):
            return tf.identity(True)

    def is_left(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            return tf.raw_ops.QueueSizeV2(handle=in_this_graph(queue)) > 0

    return _only(tf.while_loop(is_left, take_one, [True], parallel_iterations=1))


def _only(results: Tensor | Sequence[Tensor]) -> Tensor:
    return results[0] if isinstance(results, (list, tuple)) else results


def _dtype(collective: Collective) -> tf.DType:
    return collective.op.outputs[0].dtype.base_dtype


def _queue(dtype: tf.DType, name: str) -> Tensor:
    return tf.raw_ops.FIFOQueueV2(
        component_types=[dtype], shapes=[], capacity=-1, container="", shared_name=name
    )


def _put_mark(queue: Tensor) -> Operation:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[True], timeout_ms=-1)


def _take(queue: Tensor, dtype: tf.DType) -> Tensor:
    (value,) = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[dtype], timeout_ms=-1)
    return value
