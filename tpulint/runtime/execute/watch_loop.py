"""A loop in a graph that looks, again and again, whether what runs beside it takes too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import python_functions
from tpulint.runtime.execute.clock import Clock
from tpulint.runtime.execute.raising import safely
from tpulint.runtime.execute.tensor_map import in_this_graph
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.tensorflow_internals import functions


def watch_loop(
    look: Callable[..., Any],
    values: Sequence[Tensor],
    tokens: list[str],
    waits_for: Sequence[Operation],
) -> Operation:
    """Return an operation that ends when `look(*values)` returns False, and fails as it does.

    The tokens of the Python functions in it are added to `tokens`.
    """
    clock = Clock()

    def is_running(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            tick = clock.tick()
        with tf.control_dependencies([tick]):
            arguments = [in_this_graph(value) for value in values]
            (running,) = python_functions.python_function(safely(look), arguments, [tf.bool])
        tokens.append(functions.token_of(running.op))
        running.set_shape([])
        return running

    with tf.control_dependencies([*waits_for, clock.started]):
        start = tf.identity(True)
    loop = tf.while_loop(is_running, tf.identity, [start], parallel_iterations=1)
    return loop[0].op if isinstance(loop, (list, tuple)) else loop.op
