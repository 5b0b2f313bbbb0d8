"""Hubs: where the replicas of a group, which run concurrently in one graph, exchange their parts.

Each site of a collective has one, which takes the part of every member, in the order of the group,
and gives each its result. Between it and each member there are two queues, with one giver and one
taker each, who come there iteration by iteration, so that nobody takes what is another's. A queue's
waiting takes no thread, so any number of replicas can wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import tensorflow as tf

from tpulint.runtime.execute.collectives import results
from tpulint.runtime.execute.places import Places, in_this_graph
from tpulint.runtime.extract.collectives import Collective
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.extract.sites import Site

_names = itertools.count()


class Hubs:
    """The hubs of one step. One step runs at a time.

    A step that fails leaves in the queues what nobody has taken. It also leaves the mark of a step
    that runs, by which the next one sees that it has to empty them.
    """

    def __init__(self, collectives: Iterable[Collective], replicas: int) -> None:
        self._replicas = replicas
        # Those of one dtype stand side by side, so that one loop can empty them.
        self._collectives = sorted(
            (one for one in collectives if any(len(group) > 1 for group in one.groups)),
            key=lambda one: _dtype(one).as_datatype_enum,
        )
        self._number = {one.site: number for number, one in enumerate(self._collectives)}
        self._name = f"tpulint_hub_{next(_names)}"

    def queues(self, replica: int) -> Tensor | None:
        """The queues of `replica`, for each collective those to and from its hub, in one tensor."""
        if not self._collectives:
            return None
        return tf.stack(
            [
                make(one, replica)
                for one in self._collectives
                for make in (self._to_hub, self._from_hub)
            ]
        )

    def begin(self, queues: Sequence[Tensor]) -> list[Operation]:
        """Operations that empty the `queues` of all replicas, if the step before failed."""
        if not self._collectives:
            return []
        running = self._running()
        left = tf.raw_ops.QueueSizeV2(handle=running)
        emptied = tf.cond(left > 0, lambda: self._emptied(queues), lambda: tf.constant(True))
        with tf.control_dependencies([emptied]):
            return [_put(running, [tf.constant(True)])]

    def run(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Operations that serve the members of all groups until they are told to stop."""
        with tf.control_dependencies(waits_for):
            return [
                self._once(one, group) if one.comes_once else self._again_and_again(one, group)
                for one in self._collectives
                for group in one.groups
            ]

    def stop(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Operations that let the hubs stop, and note that the step has left nothing behind."""
        if not self._collectives:
            return []
        with tf.control_dependencies(waits_for):
            stops = [
                _put(self._to_hub(one, group[0]), [tf.constant(False), tf.zeros([], _dtype(one))])
                for one in self._collectives
                if not one.comes_once
                for group in one.groups
            ]
            return [*stops, _take(self._running(), [tf.bool])[0].op]

    def meet(self, site: Site, op: Operation, value: Tensor, places: Places) -> Tensor:
        """What the replica of `places` gets of `op`, the collective at `site`, for its `value`."""
        if site not in self._number:
            return results(op, (0,), [value])[0]
        queues = in_this_graph(places.queues)
        to_hub, from_hub = 2 * self._number[site], 2 * self._number[site] + 1
        put = _put(_one_of(queues, to_hub), [tf.constant(True), value])
        with tf.control_dependencies([put]):
            return _take(_one_of(queues, from_hub), [tf.bool, value.dtype.base_dtype])[1]

    def _once(self, one: Collective, group: Sequence[int]) -> Operation:
        parts = [self._taken_of(one, member)[1] for member in group]
        return tf.group(self._given_out(one, group, parts))

    def _again_and_again(self, one: Collective, group: Sequence[int]) -> Operation:
        def serve(_: Tensor, first: Tensor) -> list[Tensor]:
            parts = [first, *(self._taken_of(one, member)[1] for member in group[1:])]
            with tf.control_dependencies(self._given_out(one, group, parts)):
                return self._taken_of(one, group[0])

        return tf.while_loop(
            lambda goes_on, _: goes_on,
            serve,
            self._taken_of(one, group[0]),
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
            parallel_iterations=1,
        )[0].op

    def _taken_of(self, one: Collective, member: int) -> list[Tensor]:
        """Whether `member` brings its part, or the hub is to stop; and the part."""
        goes_on, part = _take(self._to_hub(one, member), [tf.bool, _dtype(one)])
        goes_on.set_shape([])
        return [goes_on, part]

    def _given_out(
        self, one: Collective, group: Sequence[int], parts: Sequence[Tensor]
    ) -> list[Operation]:
        return [
            _put(self._from_hub(one, member), [tf.constant(True), result])
            for member, result in zip(group, results(one.op, group, parts), strict=True)
        ]

    def _to_hub(self, one: Collective, member: int) -> Tensor:
        return self._queue_of(one, f"to_{member}")

    def _from_hub(self, one: Collective, member: int) -> Tensor:
        return self._queue_of(one, f"from_{member}")

    def _queue_of(self, one: Collective, name: str) -> Tensor:
        number = self._number[one.site]
        return _queue([tf.bool, _dtype(one)], f"{self._name}_{number}_{name}")

    def _running(self) -> Tensor:
        """The queue that holds a mark for each step that has begun and not ended."""
        return _queue([tf.bool], f"{self._name}_running")

    def _emptied(self, queues: Sequence[Tensor]) -> Tensor:
        done = _empty(self._running(), [tf.bool])
        dtypes = [_dtype(one) for one in self._collectives]
        for dtype in dict.fromkeys(dtypes):
            first = 2 * dtypes.index(dtype)
            end = first + 2 * dtypes.count(dtype)
            for of_replica in queues:
                with tf.control_dependencies([done]):
                    done = _empty_all(of_replica, first, end, dtype)
        return done


def _empty_all(queues: Tensor, first: int, end: int, dtype: tf.DType) -> Tensor:
    def empty_one(place: Tensor) -> Tensor:
        queue = tf.raw_ops.Gather(params=in_this_graph(queues), indices=place)
        with tf.control_dependencies([_empty(queue, [tf.bool, dtype])]):
            return place + 1

    place = tf.while_loop(lambda place: place < end, empty_one, [first], parallel_iterations=1)
    return tf.equal(_only(place), end)


def _empty(queue: Tensor, dtypes: Sequence[tf.DType]) -> Tensor:
    def take_one(_: Tensor) -> Tensor:
        with tf.control_dependencies(_take(in_this_graph(queue), dtypes)):
            return tf.identity(True)

    def is_left(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            return tf.raw_ops.QueueSizeV2(handle=in_this_graph(queue)) > 0

    return _only(tf.while_loop(is_left, take_one, [True], parallel_iterations=1))


def _only(found: Tensor | Sequence[Tensor]) -> Tensor:
    return found[0] if isinstance(found, (list, tuple)) else found


def _dtype(collective: Collective) -> tf.DType:
    return collective.op.outputs[0].dtype.base_dtype


def _one_of(queues: Tensor, place: int) -> Tensor:
    return tf.raw_ops.Gather(params=queues, indices=place)


def _queue(dtypes: Sequence[tf.DType], name: str) -> Tensor:
    return tf.raw_ops.FIFOQueueV2(
        component_types=list(dtypes), shapes=[], capacity=-1, container="", shared_name=name
    )


def _put(queue: Tensor, components: Sequence[Tensor]) -> Operation:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=list(components), timeout_ms=-1)


def _take(queue: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
    taken: list[Tensor] = tf.raw_ops.QueueDequeueV2(
        handle=queue, component_types=list(dtypes), timeout_ms=-1
    )
    return taken
