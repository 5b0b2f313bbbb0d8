"""A clock on which a graph can wait without holding one of TensorFlow's threads.

TensorFlow has as many threads as the machine has cores, for all steps of a process. A Python
function that sleeps holds one, and with a few of them no step would make progress. An iterator
waits in a thread of its own.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.region import Operation

_NUMBER = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}
_TICKS = ((500, 2_000), (1_000, 10_000), (2**62, 100_000))
"""Numbers of ticks, and the microseconds between them: the clock slows down as it runs."""


class Clock:
    """A clock in the graph in which it is made."""

    def __init__(self) -> None:
        first, *others = (_sleeping(times, microseconds) for times, microseconds in _TICKS)
        for later in others:
            first = tf.raw_ops.ConcatenateDataset(
                input_dataset=first, another_dataset=later, **_NUMBER
            )
        self._iterator = tf.raw_ops.AnonymousIteratorV3(**_NUMBER)
        self.started: Operation = tf.raw_ops.MakeIterator(dataset=first, iterator=self._iterator)

    def tick(self) -> Operation:
        """Return an operation that ends at the next tick."""
        return tf.raw_ops.IteratorGetNext(iterator=self._iterator, **_NUMBER)[0].op


def _sleeping(times: int, microseconds: int) -> Any:
    """Return a dataset that gives its `times` elements one by one, after a sleep each."""
    numbers = tf.raw_ops.RangeDataset(
        start=tf.constant(0, tf.int64),
        stop=tf.constant(times, tf.int64),
        step=tf.constant(1, tf.int64),
        **_NUMBER,
    )
    return tf.raw_ops.SleepDataset(
        input_dataset=numbers,
        sleep_microseconds=tf.constant(microseconds, tf.int64),
        **_NUMBER,
    )
