"""The queues behind infeed and outfeed on this CPU: one a core and direction, of serialized tuples.

Tuples are serialized so that a queue can hold any kind, and an operation that takes one can check
that it has the dtypes and shapes it was built for. A queue lives as long as its session, or for
functions as long as the process, and holds any number of tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import tensorflow as tf

from tpulint.runtime.emulate import cores
from tpulint.runtime.execute import queues
from tpulint.runtime.extract.region import Operation, Tensor

Direction = Literal["infeed", "outfeed"]


def queue(direction: Direction, core: int) -> Tensor:
    """Return the queue of the core of this number."""
    return queues.queue([tf.string], f"tpulint_{direction}_{core}")


def serialized(values: Sequence[Tensor]) -> Tensor:
    """Return the tuple `values` as it is in a queue."""
    return tf.stack([tf.io.serialize_tensor(value) for value in values])


def put(handle: Tensor, values: Sequence[Tensor]) -> Operation:
    """Put the tuple `values` into a queue. None when it is done eagerly."""
    return put_serialized(handle, serialized(values))


def put_serialized(handle: Tensor, row: Tensor) -> Operation:
    """Put a tuple that is serialized into a queue. None when it is done eagerly."""
    return queues.put(handle, [row])


def take(
    handle: Tensor,
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    take_row: Callable[[Tensor, Sequence[tf.DType]], list[Tensor]] = queues.take,
) -> list[Tensor]:
    """Take a tuple out of a queue by `take_row`, when there is one.

    The step raises an InvalidArgumentError when it is not of `dtypes` and `shapes`.
    """
    (row,) = take_row(handle, [tf.string])
    row = tf.ensure_shape(row, [len(dtypes)], name="tuple_of_another_length")
    return [
        tf.ensure_shape(tf.io.parse_tensor(row[place], dtype), shape)
        for place, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
    ]


def take_parts(
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
        here = take(
            handle,
            [dtypes[place] for place in mine],
            [None if parts[place].counts else shapes[place] for place in mine],
        )
        for place, tensor in zip(mine, here, strict=True):
            taken[place].append(tensor)
    return [
        tf.ensure_shape(cores.joined(shards, part.counts), shape)
        for shards, part, shape in zip(taken, parts, shapes, strict=True)
    ]
