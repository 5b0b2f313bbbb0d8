"""A clock on which a graph can wait without holding one of TensorFlow's threads.

TensorFlow has as many threads as the machine has cores, for all steps of a process. A Python
function that sleeps holds one, and with a few of them no step would make progress. An iterator
waits in a thread of its own.
"""

from __future__ import annotations

import tensorflow as tf

from tpulint.runtime.extract.region import Operation

_NUMBER = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}


class Clock:
    """A clock that ticks every `seconds`, in the graph in which it is made."""

    def __init__(self, seconds: float) -> None:
        numbers = tf.raw_ops.RangeDataset(
            start=tf.constant(0, tf.int64),
            stop=tf.constant(2**62, tf.int64),
            step=tf.constant(1, tf.int64),
            **_NUMBER,
        )
        slow = tf.raw_ops.SleepDataset(
            input_dataset=numbers,
            sleep_microseconds=tf.constant(round(seconds * 1e6), tf.int64),
            **_NUMBER,
        )
        self._iterator = tf.raw_ops.AnonymousIteratorV3(**_NUMBER)
        self.started: Operation = tf.raw_ops.MakeIterator(dataset=slow, iterator=self._iterator)

    def tick(self) -> Operation:
        """Return an operation that ends at the next tick."""
        return tf.raw_ops.IteratorGetNext(iterator=self._iterator, **_NUMBER)[0].op
