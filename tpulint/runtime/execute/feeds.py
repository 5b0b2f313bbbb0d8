"""The infeeds and outfeeds of a computation, core by core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.ordering.operations import INFEED_TAKES
from tpulint.runtime.emulate.cores import Parts, parts_of_outputs
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.feed_queues import Direction, put, queue, take, take_parts
from tpulint.runtime.execute.patience import Waits
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph
from tpulint.runtime.extract.program import core_number, cores_of_replicas
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import place_of_operation
from tpulint.runtime.tensorflow_internals import graphs

FeedKey = tuple[Direction, int]
"""A direction and a logical core of a replica."""


class Feeds:
    """The feeds of one computation; `waits` has those for them. One step runs at a time."""

    def __init__(
        self, ops: Iterable[Operation], marked: Marked, names: Sequence[str], waits: Waits
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
        return {key: queue(key[0], cores[replica]) for key, cores in self._cores.items()}

    def build(
        self,
        op: Operation,
        given: Sequence[Tensor],
        waits_for: Sequence[Operation],
        images: TensorMap,
    ) -> tuple[list[Tensor], Operation]:
        """Build `op`, a feed of the computation; return its results, and its last operation."""
        key = _key(op)
        with tf.control_dependencies(waits_for):
            if key is None:
                here = queue(feed_lane(op), core_number(0, max(op.get_attr("device_ordinal"), 0)))
            else:
                here = in_this_graph(images.feeds[key])
            if "Enqueue" in op.type:
                return [], put(here, given)
            dtypes = [tensor.dtype for tensor in op.outputs]
            shapes = [tensor.shape for tensor in op.outputs]
            comes = [call_python(self._comes(op), [in_this_graph(images.replica)])]
            with tf.control_dependencies(comes):
                parts = self._parts(op)
                if parts is None:
                    results = take(here, dtypes, shapes)
                else:
                    queues = {key[1]: in_this_graph(images.feeds[key]) for key in self._keys(op)}
                    results = take_parts(queues, parts, dtypes, shapes)
            with tf.control_dependencies(results):
                return results, call_python(self._has(op), [in_this_graph(images.replica)])

    def _keys(self, op: Operation) -> list[FeedKey]:
        """Return the feeds that `op` needs: those of several cores, if they share its tensors."""
        key, parts = _key(op), self._parts(op)
        if key is None:
            return []
        if parts is None:
            return [key]
        return [(key[0], core) for core in sorted({core for part in parts for core in part.cores})]

    def _parts(self, op: Operation) -> list[Parts] | None:
        if op.type not in INFEED_TAKES or self._cores_per_replica == 1:
            return None
        return parts_of_outputs(op, self._cores_per_replica)

    def _comes(self, op: Operation) -> Callable[[Any], None]:
        lane, place = feed_lane(op), place_of_operation(op)
        reason = f"waits in {op.type} '{op.name}' for what is enqueued for its core"
        if lane == "outfeed":
            reason = f"waits in {op.type} '{op.name}' for what the device puts into its outfeed"

        def comes(replica: Any) -> None:
            number = int(replica)
            self._waits.add((number, op), Wait(self._names[number], lane, reason, place))

        return comes

    def _has(self, op: Operation) -> Callable[[Any], None]:
        return lambda replica: self._waits.remove((int(replica), op))


def feed_lane(op: Operation) -> Direction:
    """Return the lane of `op`, an operation that meets the host's own."""
    return "infeed" if op.type.startswith("Infeed") else "outfeed"


def _key(op: Operation) -> FeedKey | None:
    """Return the feed of a replica's own core, or None for a host cluster's feed of any core."""
    if op.type not in INFEED_TAKES and not op.type.startswith("OutfeedEnqueue"):
        return None
    return feed_lane(op), graphs.DeviceSpec.from_string(op.device).device_index or 0
