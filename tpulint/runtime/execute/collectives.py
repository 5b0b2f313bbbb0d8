"""Collectives across replicas that run concurrently in one graph.

The members of a group stand in a ring. In a first lap they hand a partial result from one to the
next, so that a sum is added up in the order of the replicas, whoever comes first; in a second one
the result. Each site of a collective has queues of its own, each with one giver and one taker, who
come there iteration by iteration, so that nobody who is early for the next meeting takes what is
another's. A queue's waiting takes no thread, so any number of replicas can wait.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from tpulint.runtime.execute.places import Places, in_this_graph
from tpulint.runtime.execute.rings import Seat
from tpulint.runtime.extract.region import Operation, Tensor


def meet(op: Operation, value: Tensor, places: Places, seat: Seat | None) -> Tensor:
    """The result, in a replica, of the collective `op` of which `value` is its part."""
    if op.type == "CrossReplicaSum":
        return _passed_on(value, seat, lambda so_far: so_far + value)
    everything = _passed_on(
        value[tf.newaxis], seat, lambda so_far: tf.concat([so_far, value[tf.newaxis]], 0)
    )
    if op.type == "AllToAll":
        return _all_to_all(op, everything, seat.rank if seat else tf.constant(0))
    return _permuted(op, everything, in_this_graph(places.replica))


def _passed_on(first: Tensor, seat: Seat | None, join: Callable[[Tensor], Tensor]) -> Tensor:
    """Join the members' parts, rank by rank, and give all of them the whole."""
    if seat is None:
        return first
    dtype = first.dtype
    # Also the taking waits for this replica's turn: the iteration before may have to come yet.
    with tf.control_dependencies([first.op]):
        so_far = tf.cond(
            tf.equal(seat.rank, 0),
            lambda: first,
            lambda: join(_take(in_this_graph(seat.before), dtype)),
        )

    def last_one() -> Tensor:
        is_any_other = seat.size > 1
        with tf.control_dependencies([_put_if(is_any_other, in_this_graph(seat.after), so_far)]):
            return tf.identity(so_far)

    def earlier_one() -> Tensor:
        with tf.control_dependencies([_put(in_this_graph(seat.after), so_far)]):
            whole = _take(in_this_graph(seat.before), dtype)
        lacks_it = seat.rank < seat.size - 2
        with tf.control_dependencies([_put_if(lacks_it, in_this_graph(seat.after), whole)]):
            return tf.identity(whole)

    whole = tf.cond(tf.equal(seat.rank, seat.size - 1), last_one, earlier_one)
    if first.shape.is_fully_defined() and so_far.shape == first.shape:
        whole.set_shape(first.shape)
    return whole


def _all_to_all(op: Operation, everything: Tensor, rank: Tensor) -> Tensor:
    """From each member of the group the part that is meant for `rank`."""
    count = op.get_attr("split_count")
    parts = tf.split(everything, count, axis=op.get_attr("split_dimension") + 1)
    mine = tf.stack(parts)[rank]
    return tf.concat(tf.unstack(mine, num=count), axis=op.get_attr("concat_dimension"))


def _permuted(op: Operation, everything: Tensor, replica: Tensor) -> Tensor:
    """What the source that has `replica` as its target gave; zeros where there is none."""
    pairs = tf.constant(tf.get_static_value(op.inputs[1]))
    is_mine = tf.equal(pairs[:, 1], tf.cast(replica, pairs.dtype))
    sources = tf.boolean_mask(pairs[:, 0], is_mine)
    nothing = tf.zeros_like(everything[0])
    return tf.cond(tf.size(sources) > 0, lambda: everything[sources[0]], lambda: nothing)


def _put(queue: Tensor, value: Tensor) -> Operation:
    return tf.raw_ops.QueueEnqueueV2(handle=queue, components=[value], timeout_ms=-1)


def _put_if(wanted: Tensor, queue: Tensor, value: Tensor) -> Operation:
    copies = tf.repeat(value[tf.newaxis], tf.cast(wanted, tf.int32), axis=0)
    return tf.raw_ops.QueueEnqueueManyV2(handle=queue, components=[copies], timeout_ms=-1)


def _take(queue: Tensor, dtype: tf.DType) -> Tensor:
    (value,) = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[dtype], timeout_ms=-1)
    return value
