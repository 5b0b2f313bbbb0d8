"""The infeeds and outfeeds of a computation, core by core, and the queues behind them on this CPU.

There is a queue for each core and direction, of serialized tuples: so it can hold any kind, and an
operation that takes one can check that it has the dtypes and shapes it was built for. A queue lives
as long as its session, or for functions as long as the process, and holds any number of tuples. The
host takes from it outside of computations, and waits no longer than anything else may.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tpulint.ordering import INFEED_TAKES
from tpulint.runtime.emulate import cores
from tpulint.runtime.emulate.cores import Parts, output_parts
from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute import exchanges
from tpulint.runtime.execute.deadline import ask_hosts_now, watch_loop
from tpulint.runtime.execute.raising import call_python, compute_by_python, token_for
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph
from tpulint.runtime.execute.waiting import WaitLimit, deadlock_of_waits, idle_time
from tpulint.runtime.extract.program import core_number, cores_of_replicas
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import operation_location
from tpulint.runtime.tensorflow_internals import graphs

Direction = Literal["infeed", "outfeed"]
# The rule that a wait for a feed breaks where nothing fills it.
FEED_RULE = "TPU614"


def feed_queue(direction: Direction, core: int) -> Tensor:
    """Return the queue of the core of this number."""
    return exchanges.make_queue([tf.string], f"tpulint_{direction}_{core}")


def serialize_tuple(values: Sequence[Tensor]) -> Tensor:
    """Return the tuple `values` as it is in a queue."""
    return tf.stack([tf.io.serialize_tensor(value) for value in values])


def dequeue_tuple(
    handle: Tensor,
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    take_row: Callable[[Tensor, Sequence[tf.DType]], list[Tensor]] = exchanges.dequeue,
) -> list[Tensor]:
    """Take a tuple out of a queue by `take_row`, when there is one.

    The step raises an InvalidArgumentError when it is not of `dtypes` and `shapes`.
    """
    (row,) = take_row(handle, [tf.string])
    # A tuple of another length would fail in the middle, with a message about a slice.
    row = tf.ensure_shape(row, [len(dtypes)], name="tuple_of_another_length")
    return [
        tf.ensure_shape(tf.io.parse_tensor(row[place], dtype), shape)
        for place, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
    ]


def dequeue_parts(
    handles: Mapping[int, Tensor],
    parts: Sequence[cores.Parts],
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
) -> list[Tensor]:
    """Take a tuple out of the queue of each core of a replica, and join the parts of its tensors.

    A core whose number is in no `parts` gets nothing.
    """
    taken: list[list[Tensor]] = [[] for _ in parts]
    for core, handle in handles.items():
        mine = [place for place, part in enumerate(parts) if core in part.cores]
        here = dequeue_tuple(
            handle,
            [dtypes[place] for place in mine],
            [None if parts[place].counts else shapes[place] for place in mine],
        )
        for place, tensor in zip(mine, here, strict=True):
            taken[place].append(tensor)
    return [
        tf.ensure_shape(cores.join_shards(shards, part.counts), shape)
        for shards, part, shape in zip(taken, parts, shapes, strict=True)
    ]


_last_reads: list[object] = []
"""Something for each block of `last_reads` that is open, in any thread. It has no lock: `append`
and `pop` are atomic in CPython."""


@contextmanager
def last_reads() -> Iterator[None]:
    """Hold each wait for a feed in this block for a deadlock: no further step fills one."""
    _last_reads.append(object())
    try:
        yield
    finally:
        _last_reads.pop()


# For what a step that has ended has put into an outfeed.
_LAST_READ_SECONDS = 1.0

_LOOK_SECONDS = 0.002
# Seconds after which a wait is looked at less often.
_EAGER_SECONDS = 1.0
_eager_takes = threading.Lock()


class HostDequeue:
    """One place at which the host takes from the queue that `wait` describes.

    `wait` may last for `seconds`, or else for as long as all waits may.
    """

    def __init__(self, wait: Wait, seconds: float | None) -> None:
        self._wait = wait
        self._seconds = seconds
        self._tokens: list[str] = []
        self._numbers = itertools.count()
        self._runs: dict[int, WaitLimit] = {}
        """The waits at this moment; what is done with it is atomic in CPython."""

    def take(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        """Take a tuple out of a queue, when there is one.

        Raises:
            DeadlockError: eagerly, or when the graph runs: the wait has taken too long.
        """
        if tf.executing_eagerly():
            return self._take_eagerly(handle, dtypes)
        take = graphs.wrap_function(lambda queue: self._take_watched(queue, dtypes), [tf.resource])
        with devices.on_coordinator():
            return list(take(handle))

    def _take_eagerly(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        limit, thread = WaitLimit(self._seconds), threading.get_ident()
        began, used = time.monotonic(), time.thread_time()
        while True:
            # Between the look and the take no other thread may take the tuple.
            with _eager_takes:
                if tf.raw_ops.QueueSizeV2(handle=handle) > 0:
                    idle_time.forget([thread])
                    return exchanges.dequeue(handle, dtypes)
            ask_hosts_now()
            # All that this thread does is to look, which is no work that could end the wait.
            before, used = used, time.thread_time()
            idle_time.leave_out(used - before)
            if limit.is_over([self._wait], [thread]):
                raise self._fault([thread])
            # An eager dequeue that waits could not be given up. A process that looks all the time
            # would seem to compute.
            is_new = time.monotonic() - began < _EAGER_SECONDS
            time.sleep(_LOOK_SECONDS if is_new else 10 * _LOOK_SECONDS)

    def _take_watched(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        (run,) = compute_by_python(self._begin, [], [tf.int64])
        with tf.control_dependencies([run]):
            taken = exchanges.dequeue(handle, dtypes)
        ended = call_python(self._end, [run], taken)
        # The graph may run several times at once, each with a limit of its own.
        watching = watch_loop(self._look, [run], self._tokens, [run.op])
        with tf.control_dependencies([ended, watching]):
            return [tf.identity(value) for value in taken]

    def _begin(self) -> Any:
        number = next(self._numbers)
        self._runs[number] = WaitLimit(_LAST_READ_SECONDS if _last_reads else self._seconds)
        return np.int64(number)

    def _end(self, number: Any) -> None:
        self._runs.pop(int(number), None)
        idle_time.forget(self._tokens)

    def _look(self, number: Any) -> bool:
        limit = self._runs.get(int(number))
        if limit is None:
            return False
        if limit.is_over([self._wait], self._tokens):
            fault = self._fault(self._tokens)
            self._end(number)
            raise token_for(fault)
        return True

    def _fault(self, waiting: Sequence[Hashable]) -> DeadlockError:
        what = self._wait.held_up_by
        if _last_reads:
            text = (
                f"The host waits for {what} after the last step, and no other step fills it: the"
                " value of a metric is computed from what each step sends"
            )
            return deadlock_of_waits(text, [replace(self._wait, rule="TPU611")], waiting)
        if self._seconds is not None:
            text = f"The host has waited more than {self._seconds:g} s for {what}"
        else:
            text = f"The host waits for {what}, and nothing runs that could end its wait"
        return deadlock_of_waits(text, [self._wait], waiting)


# A direction and a logical core of a replica.
FeedKey = tuple[Direction, int]


class Feeds:
    """The feeds of one computation; `waits` has those for them. One step runs at a time."""

    def __init__(
        self,
        ops: Iterable[Operation],
        marked: Marked,
        names: Sequence[str],
        waits: dict[Hashable, Wait],
    ) -> None:
        ops = list(ops)
        self._names = names
        self._waits = waits
        self.may_wait = any("Dequeue" in op.type for op in ops)
        self._cores_per_replica: int = marked.metadata.get_attr("num_cores_per_replica")
        self._cores = {
            key: cores_of_replicas(marked, key[1]) for op in ops for key in self._keys(op)
        }

    def queues(self, replica: int) -> dict[FeedKey, Tensor]:
        """Return the queues of the cores of `replica`."""
        return {key: feed_queue(key[0], cores[replica]) for key, cores in self._cores.items()}

    def build(
        self,
        op: Operation,
        values: Sequence[Tensor],
        waits_for: Sequence[Operation],
        images: TensorMap,
    ) -> tuple[list[Tensor], Operation]:
        """Build `op`, a feed of the computation; return its results, and its last operation."""
        parts, keys, lane = self._parts(op), self._keys(op), feed_lane(op)
        replica = in_this_graph(images.replica)
        with tf.control_dependencies(waits_for):
            queues = {key[1]: in_this_graph(images.feeds[key]) for key in keys}
            if not keys:  # a host cluster's: it names a core, as the host's own feeds do
                core = core_number(0, max(op.get_attr("device_ordinal"), 0))
                queues = {parts[0].cores[0]: feed_queue(lane, core)}
            if "Enqueue" in op.type:
                (queue,) = queues.values()
                return [], exchanges.enqueue(queue, [serialize_tuple(values)])
            does = "is enqueued for its core"
            if lane == "outfeed":
                does = "the device puts into its outfeed"
            reason = f"waits in {op.type} '{op.name}' for what {does}"
            wait = Wait("", lane, reason, operation_location(op), FEED_RULE)

            def comes(of: Any) -> None:
                self._waits[int(of), op] = replace(wait, lane=self._names[int(of)])

            with tf.control_dependencies([call_python(comes, [replica])]):
                dtypes = [tensor.dtype for tensor in op.outputs]
                shapes = [tensor.shape for tensor in op.outputs]
                results = dequeue_parts(queues, parts, dtypes, shapes)
            return results, call_python(
                lambda of: self._waits.pop((int(of), op), None), [replica], results
            )

    def _keys(self, op: Operation) -> list[FeedKey]:
        """Return the feeds of a replica's cores that `op` needs: several, if they share a tensor.

        There are none where it is a host cluster's, which names any core.
        """
        if op.type not in INFEED_TAKES and not op.type.startswith("OutfeedEnqueue"):
            return []
        cores_of_op = {core for part in self._parts(op) for core in part.cores}
        return [(feed_lane(op), core) for core in sorted(cores_of_op)]

    def _parts(self, op: Operation) -> list[Parts]:
        """Return the cores that get each tensor of `op`; its own if it has no sharding."""
        is_shared = op.type in INFEED_TAKES and self._cores_per_replica > 1
        own = Parts((graphs.DeviceSpec.from_string(op.device).device_index or 0,))
        parts = output_parts(op, self._cores_per_replica) if is_shared else None
        return parts or [own] * max(len(op.outputs), 1)


def feed_lane(op: Operation) -> Direction:
    """Return the lane of `op`, an operation that meets the host's own."""
    return "infeed" if op.type.startswith("Infeed") else "outfeed"
