"""Exchanges of parts by the replicas of a group, which run concurrently in one graph.

Each site of a collective has one, which takes the part of every member, in the order of the group,
and returns to each its result. Between it and each member there are two queues, each with one
producer and one consumer that go iteration by iteration, so that none takes another's part. Waiting
in a queue takes no thread, so any number of replicas can wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.execute.collectives import results, sums_of
from tpulint.runtime.execute.functions import function_of_all_steps
from tpulint.runtime.execute.queues import empty, empty_all, put, queue, take
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph, token_after
from tpulint.runtime.extract.collectives import Collective
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.extract.sites import RegionSite

_names = itertools.count()

Combine = Callable[[Sequence[Tensor]], list[Tensor]]
"""From the parts of a group's members to the result of each."""


class Exchanges:
    """The exchanges of one step. One step runs at a time.

    A step that fails leaves untaken parts in the queues. It also leaves the mark of a running
    step, by which the next one sees that it has to empty them.
    """

    def __init__(self, collectives: Iterable[Collective], replicas: int) -> None:
        # The collectives of one dtype are next to each other, so that one loop can empty them.
        self._collectives = sorted(
            (one for one in collectives if any(len(group) > 1 for group in one.groups)),
            key=lambda one: _dtype(one).as_datatype_enum,
        )
        self._number = {one.site: number for number, one in enumerate(self._collectives)}
        self._name = f"tpulint_exchange_{next(_names)}"
        self._replicas = replicas
        self._to_exchange, self._from_exchange = self._queues_of("to"), self._queues_of("from")

    def queues(self, replica: int) -> Tensor | None:
        """Return the queues of `replica` to and from each collective's exchange, in one tensor."""
        if not self._collectives:
            return None
        pairs = zip(self._to_exchange, self._from_exchange, strict=True)
        return tf.stack([way[replica] for pair in pairs for way in pair])

    def begin(self, queues: Sequence[Tensor]) -> list[Operation]:
        """Return operations that empty all replicas' `queues`, if the previous step failed."""
        if not self._collectives:
            return []
        running = self._running()
        left = tf.raw_ops.QueueSizeV2(handle=running)
        emptied = tf.cond(left > 0, lambda: self._emptied(queues), lambda: tf.constant(True))
        with tf.control_dependencies([emptied]):
            return [put(running, [tf.constant(True)])]

    def run(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that serve the members of all groups until the signal to stop."""
        with tf.control_dependencies(waits_for):
            return [
                self._server(one, group)(
                    *(self._to_exchange[number][member] for member in group),
                    *(self._from_exchange[number][member] for member in group),
                ).op
                for number, one in enumerate(self._collectives)
                for group in one.groups
            ]

    def stop(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that stop the exchanges, and note that the step left nothing behind."""
        if not self._collectives:
            return []
        with tf.control_dependencies(waits_for):
            stops = [
                put(
                    self._to_exchange[number][group[0]],
                    [tf.constant(False), tf.zeros([], _dtype(one))],
                )
                for number, one in enumerate(self._collectives)
                if not one.comes_once
                for group in one.groups
            ]
            return [*stops, take(self._running(), [tf.bool])[0].op]

    def meet(self, site: RegionSite, op: Operation, value: Tensor, images: TensorMap) -> Tensor:
        """Return the result of `op`, the collective at `site`, for a replica's `value`."""
        if site not in self._number:
            return results(op, (0,), [value])[0]
        queues = in_this_graph(images.queues)
        to_exchange, from_exchange = 2 * self._number[site], 2 * self._number[site] + 1
        given = put(_one_of(queues, to_exchange), [tf.constant(True), value])
        with tf.control_dependencies([given]):
            return take(_one_of(queues, from_exchange), [tf.bool, value.dtype.base_dtype])[1]

    def _server(self, one: Collective, group: Sequence[int]) -> Callable[..., Tensor]:
        """Return the function that serves `group` at the exchange of `one`, given its queues.

        Sums of one dtype over as many members share one, as do those of all steps: to trace it
        costs more than anything else here.
        """
        sums = one.op.type == "CrossReplicaSum"
        key = (_dtype(one), one.comes_once, len(group))
        combine = sums_of if sums else partial(results, one.op, group)
        serve = partial(_serve, combine, _dtype(one), comes_once=one.comes_once)
        taken = [tf.resource] * (2 * len(group))
        if sums:
            return function_of_all_steps(key, serve, taken)
        return tensorflow_internals.wrapped(serve, taken)

    def _queues_of(self, way: str) -> list[list[Tensor]]:
        """Return for each collective the queues of all replicas to or from its exchange."""
        return [
            [
                queue([tf.bool, _dtype(one)], f"{self._name}_{number}_{way}_{replica}")
                for replica in range(self._replicas)
            ]
            for number, one in enumerate(self._collectives)
        ]

    def _running(self) -> Tensor:
        """Return the queue that holds a mark for each step that has begun and not ended."""
        return queue([tf.bool], f"{self._name}_running")

    def _emptied(self, queues: Sequence[Tensor]) -> Tensor:
        done = empty(self._running(), [tf.bool])
        dtypes = [_dtype(one) for one in self._collectives]
        of_replicas = tf.stack([in_this_graph(one) for one in queues])
        for dtype in dict.fromkeys(dtypes):
            first = 2 * dtypes.index(dtype)
            end = first + 2 * dtypes.count(dtype)
            with tf.control_dependencies([done]):
                of_dtype = tf.reshape(of_replicas[:, first:end], [-1])
                done = empty_all(of_dtype, [tf.bool, dtype])
        return done


def _serve(combine: Combine, dtype: tf.DType, *queues: Tensor, comes_once: bool) -> Tensor:
    """Serve a group, with its `queues` to and from the exchange; give a token at the end."""
    members = len(queues) // 2
    to_exchange, from_exchange = queues[:members], queues[members:]
    dtypes = [tf.bool, dtype]

    def taken_of(place: int) -> list[Tensor]:
        goes_on, part = take(in_this_graph(to_exchange[place]), dtypes)
        goes_on.set_shape([])
        return [goes_on, part]

    def give(first: Tensor) -> list[Operation]:
        parts = [first, *(taken_of(place)[1] for place in range(1, members))]
        return [
            put(in_this_graph(way), [tf.constant(True), result])
            for way, result in zip(from_exchange, combine(parts), strict=True)
        ]

    def again(_: Tensor, first: Tensor) -> list[Tensor]:
        with tf.control_dependencies(give(first)):
            return taken_of(0)

    start = taken_of(0)
    if comes_once:
        return token_after(give(start[1]))
    ended = tf.while_loop(
        lambda goes_on, _: goes_on,
        again,
        start,
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
        parallel_iterations=1,
    )
    return token_after([ended[0].op])


def _dtype(collective: Collective) -> tf.DType:
    return collective.op.outputs[0].dtype.base_dtype


def _one_of(queues: Tensor, place: int) -> Tensor:
    return tf.raw_ops.Gather(params=queues, indices=place)
