"""Queues of a graph, in which waiting takes no thread. They are in the process of the program."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.execute.tensor_map import in_this_graph
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices


@devices.on_coordinator()
def queue(dtypes: Sequence[tf.DType], name: str) -> Tensor:
    """Return the queue `name` of tuples of `dtypes`, of any shapes and any number."""
    return tf.raw_ops.FIFOQueueV2(
        component_types=list(dtypes), shapes=[], capacity=-1, container="", shared_name=name
    )


@devices.on_coordinator()
def put(handle: Tensor, components: Sequence[Tensor]) -> Operation:
    """Put a tuple into a queue."""
    return tf.raw_ops.QueueEnqueueV2(handle=handle, components=list(components), timeout_ms=-1)


@devices.on_coordinator()
def take(handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
    """Take a tuple out of a queue, when there is one."""
    taken: list[Tensor] = tf.raw_ops.QueueDequeueV2(
        handle=handle, component_types=list(dtypes), timeout_ms=-1
    )
    return taken


@devices.on_coordinator()
def one_of(handles: Tensor, place: int | Tensor) -> Tensor:
    """Return the queue at `place` of the queues `handles`, one tensor."""
    return tf.raw_ops.Gather(params=handles, indices=place)


@devices.on_coordinator()
def empty_all(handles: Tensor, dtypes: Sequence[tf.DType]) -> Tensor:
    """Empty the queues `handles`, and return a token."""
    count = tf.size(handles)

    def empty_one(place: Tensor) -> Tensor:
        handle = one_of(in_this_graph(handles), place)
        with tf.control_dependencies([empty(handle, dtypes)]):
            return place + 1

    def is_left(place: Tensor) -> Tensor:
        return place < in_this_graph(count)

    return tf.equal(_only(tf.while_loop(is_left, empty_one, [0], parallel_iterations=1)), count)


@devices.on_coordinator()
def empty(handle: Tensor, dtypes: Sequence[tf.DType]) -> Tensor:
    """Empty a queue, and return a token."""

    def take_one(_: Tensor) -> Tensor:
        with tf.control_dependencies(take(in_this_graph(handle), dtypes)):
            return tf.identity(True)

    def is_left(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            return tf.raw_ops.QueueSizeV2(handle=in_this_graph(handle)) > 0

    return _only(tf.while_loop(is_left, take_one, [True], parallel_iterations=1))


def _only(found: Tensor | Sequence[Tensor]) -> Tensor:
    return found[0] if isinstance(found, (list, tuple)) else found
