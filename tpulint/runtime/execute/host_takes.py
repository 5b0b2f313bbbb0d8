"""Take from a queue outside of computations, and wait no longer than anything else may."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime import python_functions
from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute import patience, queues
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.patience import Patience, deadlock
from tpulint.runtime.execute.raising import safely, ticket_for
from tpulint.runtime.execute.stillness import stillness
from tpulint.runtime.execute.watch_loop import watch_loop
from tpulint.runtime.extract.region import Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.tensorflow_internals import functions

_TICK = 0.002
_eager_takes = threading.Lock()


class HostTake:
    """One place at which the host takes from the queue that `wait` describes.

    `wait` may last for `seconds`, or else for as long as all waits may.
    """

    def __init__(self, wait: Wait, seconds: float | None) -> None:
        self._wait = wait
        self._seconds = seconds
        self._tokens: list[str] = []
        self._numbers = itertools.count()
        self._runs: dict[int, Patience] = {}
        """The waits at this moment; what is done with it is atomic in CPython."""

    def take(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        """Take a tuple out of a queue, when there is one.

        Raises:
            DeadlockError: eagerly, or when the graph runs: the wait has taken too long.
        """
        if tf.executing_eagerly():
            return self._take_eagerly(handle, dtypes)
        take = functions.wrapped(lambda queue: self._take_watched(queue, dtypes), [tf.resource])
        with devices.on_coordinator():
            return list(take(handle))

    def _take_eagerly(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        limit, thread = Patience(self._seconds), threading.get_ident()
        while True:
            with _eager_takes:
                if tf.raw_ops.QueueSizeV2(handle=handle) > 0:
                    stillness.forget([thread])
                    return queues.take(handle, dtypes)
            if limit.is_over([self._wait], [thread]):
                fault = self._fault()
                stillness.forget([thread])
                raise fault
            time.sleep(_TICK)

    def _take_watched(self, handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
        (run,) = python_functions.python_function(safely(self._begin), [], [tf.int64])
        with tf.control_dependencies([run]):
            taken = queues.take(handle, dtypes)
        with tf.control_dependencies(taken):
            ended = call_python(self._end, [run])
        watching = watch_loop(self._look, [run], self._tokens, [run.op])
        with tf.control_dependencies([ended, watching]):
            return [tf.identity(value) for value in taken]

    def _begin(self) -> Any:
        number = next(self._numbers)
        self._runs[number] = Patience(self._seconds)
        return np.int64(number)

    def _end(self, number: Any) -> None:
        self._runs.pop(int(number), None)
        stillness.forget(self._tokens)

    def _look(self, number: Any) -> bool:
        limit = self._runs.get(int(number))
        if limit is None:
            return False
        if limit.is_over([self._wait], self._tokens):
            fault = self._fault()
            self._end(number)
            raise ticket_for(fault)
        return True

    def _fault(self) -> DeadlockError:
        what = self._wait.held_up_by
        if self._seconds is not None:
            text = f"The host has waited more than {self._seconds:g} s for {what}"
        else:
            text = (
                f"The host waits for {what}, and nothing that could end its wait has run for "
                f"{patience.LIMIT:g} s"
            )
        return deadlock(text, [self._wait])
