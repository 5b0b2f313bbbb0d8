"""Exchanges of parts by the replicas of a group, which run concurrently in one graph.

Each meeting has one, which takes the parts of every member, in the order of the group, and returns
to each its results: a part and a result for each collective of the meeting. Between it and each
member there are two queues, each with one producer and one consumer that go iteration by iteration,
so that none takes another's parts. Waiting in a queue takes no thread, so any number of replicas
can wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import tensorflow as tf

from tpulint.runtime.execute.collectives import results, sums_of
from tpulint.runtime.execute.functions import function_of_all_steps
from tpulint.runtime.execute.queues import empty, empty_all, one_of, put, queue, take
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph, token_after
from tpulint.runtime.extract.region import Operation, RegionSite, Tensor
from tpulint.runtime.schedule.plan import Rendezvous
from tpulint.runtime.tensorflow_internals import functions

_names = itertools.count()

Combine = Callable[[Sequence[Tensor]], list[Tensor]]
"""From the parts of a group's members to the result of each."""


class Exchanges:
    """The exchanges of one step. One step runs at a time.

    A step that fails leaves untaken parts in the queues. It also leaves the mark of a running
    step, by which the next one sees that it has to empty them.
    """

    def __init__(self, meetings: Iterable[Rendezvous], replicas: int) -> None:
        # The queues of the same dtypes are next to each other, so that one loop can empty them.
        self._meetings = sorted(
            (one for one in meetings if any(len(group) > 1 for group in one.first.groups)),
            key=lambda one: [dtype.as_datatype_enum for dtype in _dtypes(one)],
        )
        self._number = {one.first.site: number for number, one in enumerate(self._meetings)}
        self._name = f"tpulint_exchange_{next(_names)}"
        self._replicas = replicas
        self._to_exchange, self._from_exchange = self._queues_of("to"), self._queues_of("from")

    def queues(self, replica: int) -> Tensor | None:
        """Return the queues of `replica` to and from each meeting's exchange, in one tensor."""
        if not self._meetings:
            return None
        pairs = zip(self._to_exchange, self._from_exchange, strict=True)
        return tf.stack([way[replica] for pair in pairs for way in pair])

    def begin(self, queues: Sequence[Tensor]) -> list[Operation]:
        """Return operations that empty all replicas' `queues`, if the previous step failed."""
        if not self._meetings:
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
                for number, one in enumerate(self._meetings)
                for group in one.first.groups
            ]

    def stop(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that stop the exchanges, and note that the step left nothing behind."""
        if not self._meetings:
            return []
        with tf.control_dependencies(waits_for):
            stops = [
                put(
                    self._to_exchange[number][group[0]],
                    [tf.constant(False), *(tf.zeros([], dtype) for dtype in _dtypes(one)[1:])],
                )
                for number, one in enumerate(self._meetings)
                if not one.first.comes_once
                for group in one.first.groups
            ]
            return [*stops, take(self._running(), [tf.bool])[0].op]

    def meet(
        self,
        site: RegionSite,
        ops: Sequence[Operation],
        values: Sequence[Tensor],
        images: TensorMap,
    ) -> list[Tensor]:
        """Return the results of `ops`, which meet at `site`, for a replica's `values`."""
        if site not in self._number:
            return [results(op, (0,), [value])[0] for op, value in zip(ops, values, strict=True)]
        number = self._number[site]
        dtypes = _dtypes(self._meetings[number])
        queues = in_this_graph(images.queues)
        given = put(one_of(queues, 2 * number), [tf.constant(True), *values])
        with tf.control_dependencies([given]):
            return take(one_of(queues, 2 * number + 1), dtypes)[1:]

    def _server(self, one: Rendezvous, group: Sequence[int]) -> Callable[..., Tensor]:
        """Return the function that serves `group` at the exchange of `one`, given its queues.

        Sums of the same dtypes over as many members share one, as do those of all steps: to trace
        it costs more than anything else here.
        """
        ops = [each.op for each in one.collectives]
        sums = all(op.type == "CrossReplicaSum" for op in ops)
        combine = [sums_of if sums else partial(results, op, group) for op in ops]
        serve = partial(_serve, combine, _dtypes(one), comes_once=one.first.comes_once)
        taken = [tf.resource] * (2 * len(group))
        if sums:
            key = (*_dtypes(one), one.first.comes_once, len(group))
            return function_of_all_steps(key, serve, taken)
        return functions.wrapped(serve, taken)

    def _queues_of(self, way: str) -> list[list[Tensor]]:
        """Return for each meeting the queues of all replicas to or from its exchange."""
        return [
            [
                queue(_dtypes(one), f"{self._name}_{number}_{way}_{replica}")
                for replica in range(self._replicas)
            ]
            for number, one in enumerate(self._meetings)
        ]

    def _running(self) -> Tensor:
        """Return the queue that holds a mark for each step that has begun and not ended."""
        return queue([tf.bool], f"{self._name}_running")

    def _emptied(self, queues: Sequence[Tensor]) -> Tensor:
        done = empty(self._running(), [tf.bool])
        dtypes = [_dtypes(one) for one in self._meetings]
        of_replicas = tf.stack([in_this_graph(one) for one in queues])
        for same in dict.fromkeys(dtypes):
            first = 2 * dtypes.index(same)
            end = first + 2 * dtypes.count(same)
            with tf.control_dependencies([done]):
                of_dtypes = tf.reshape(of_replicas[:, first:end], [-1])
                done = empty_all(of_dtypes, same)
        return done


def _serve(
    combine: Sequence[Combine], dtypes: Sequence[tf.DType], *queues: Tensor, comes_once: bool
) -> Tensor:
    """Serve a group, with its `queues` to and from the exchange; give a token at the end."""
    members = len(queues) // 2
    to_exchange, from_exchange = queues[:members], queues[members:]

    def taken_of(place: int) -> list[Tensor]:
        goes_on, *parts = take(in_this_graph(to_exchange[place]), dtypes)
        goes_on.set_shape([])
        return [goes_on, *parts]

    def give(first: Sequence[Tensor]) -> list[Operation]:
        of_members = [first, *(taken_of(place)[1:] for place in range(1, members))]
        combined = [
            one(parts) for one, parts in zip(combine, zip(*of_members, strict=True), strict=True)
        ]
        return [
            put(in_this_graph(way), [tf.constant(True), *mine])
            for way, mine in zip(from_exchange, zip(*combined, strict=True), strict=True)
        ]

    def again(_: Tensor, *first: Tensor) -> list[Tensor]:
        with tf.control_dependencies(give(first)):
            return taken_of(0)

    start = taken_of(0)
    if comes_once:
        return token_after(give(start[1:]))
    ended = tf.while_loop(
        lambda goes_on, *_: goes_on,
        again,
        start,
        shape_invariants=[tf.TensorShape([]), *[tf.TensorShape(None)] * len(combine)],
        parallel_iterations=1,
    )
    return token_after([ended[0].op])


def _dtypes(meeting: Rendezvous) -> tuple[tf.DType, ...]:
    """Return the dtypes of what goes through a queue: the signal to go on, and the parts."""
    return (tf.bool, *(one.op.outputs[0].dtype.base_dtype for one in meeting.collectives))
