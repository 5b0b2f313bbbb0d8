"""The mutex of a step: its runs take turns, as on a TPU, whose cores run one program at a time.

It is needed only where concurrent runs would share the step's own state: the queues of its
collectives and of its deferred clusters, its infeed, and its notes in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices

_names = itertools.count()


class StepMutex:
    """The lock of one run; without `needed` every run has it at once.

    A run that fails gives it up: the lock goes with its tensors.
    """

    @devices.on_coordinator()
    def __init__(self, needed: bool) -> None:
        self._lock: Tensor | None = None
        if needed:
            mutex = tf.raw_ops.MutexV2(shared_name=f"tpulint_step_{next(_names)}", container="")
            self._lock = tf.raw_ops.MutexLock(mutex=mutex)

    def acquire(self) -> list[Operation]:
        """Return operations that have run when this run has the lock."""
        return [] if self._lock is None else [self._lock.op]

    @devices.on_coordinator()
    def release(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that pass the lock to the next run."""
        if self._lock is None:
            return []
        with tf.control_dependencies(waits_for):
            return [tf.raw_ops.ConsumeMutexLock(mutex_lock=self._lock)]
