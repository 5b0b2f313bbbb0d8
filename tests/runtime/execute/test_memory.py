"""A program that has ended leaves nothing alive: no graph, no function, no object of the runtime's.

What XLA has compiled in a tf.function stays with TensorFlow as long as the process, and is not
counted here.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tpulint.runtime as tpu

Tensor = Any


def alive() -> Counter[str]:
    """Count the graphs, the objects of the runtime's classes, and the functions of the context."""
    gc.collect()
    kinds = Counter(type(obj) for obj in gc.get_objects())
    counts = Counter(
        {
            f"{kind.__module__}.{kind.__qualname__}": count
            for kind, count in kinds.items()
            if issubclass(kind, tf.Graph) or str(kind.__module__).startswith("tpulint.runtime.")
        }
    )
    counts["functions"] = len(context.context().list_function_names())
    return counts


def computation(x: Tensor) -> Tensor:
    """Have segments, a cluster in a branch, a loop, and a collective that a replica may miss."""
    y = tpu.outside_compilation(lambda a: a + 1.0, x * 2.0)
    y = tf.cond(y > 0.0, lambda: tpu.outside_compilation(tf.sin, y) * 2.0, lambda: y)
    y = tf.cond(y > -5.0, lambda: tpu.cross_replica_sum(y), lambda: y)
    return tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * 2.0), (0, y))[1]


def divergent(x: Tensor) -> Tensor:
    """Meet in a branch that the other replica does not take."""
    return tf.cond(x > 0.0, lambda: tpu.cross_replica_sum(x), lambda: x)


def in_session() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]]))


def in_function() -> None:
    @tf.function
    def step(x: Tensor) -> Any:
        return tpu.replicate(computation, [[x], [x]])

    step(tf.constant(1.0))


def eagerly() -> None:
    tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])


def with_a_deadline() -> None:
    with tpu.options(deadline=60.0):
        in_function()


def watched() -> None:
    with tpu.profile():
        in_function()


def that_fails() -> None:
    @tf.function
    def step(x: Tensor) -> Any:
        return tpu.replicate(divergent, [[x], [-x]])

    with pytest.raises(tpu.DivergentCollectiveError):
        step(tf.constant(1.0))


@pytest.mark.parametrize(
    "program", [in_session, in_function, eagerly, with_a_deadline, watched, that_fails]
)
def test_a_program_leaves_nothing_alive(program: Callable[[], None]) -> None:
    program()
    before = alive()
    program()
    program()
    assert alive() - before == Counter()


def test_what_is_dropped_before_it_has_run_runs() -> None:
    """With asynchronous execution a call returns at once."""
    variable = tf.Variable(0.0)

    def slow(x: Tensor) -> Tensor:
        def on_the_host(value: Any) -> Any:
            time.sleep(0.3)
            return value + np.float32(1.0)

        return tf.ensure_shape(tf.numpy_function(on_the_host, [x], tf.float32), [])

    def adding(x: Tensor) -> Tensor:
        return tf.group(variable.assign_add(tpu.outside_compilation(slow, x), read_value=False))

    tf.config.experimental.set_synchronous_execution(False)
    try:
        with tpu.options(deadline=60.0):
            tpu.replicate(adding, [[tf.constant(1.0)]])
        gc.collect()
        assert float(variable) == 2.0
    finally:
        tf.config.experimental.set_synchronous_execution(True)
