"""Gradient tapes in and around an eager call: those of a call in a tf.function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

X = np.float32([1.0, 2.0, 3.0])


def of_a_mean(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(x)
    return tape.gradient(loss, x, unconnected_gradients="zero")


def of_a_host_cluster(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tpu.outside_compilation(tf.sin, x) * x
    return tape.gradient(loss, x)


def in_a_host_cluster(x: Any) -> Any:
    def on_the_host(y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(y)
            loss = tf.sin(y)
        return tape.gradient(loss, y)

    return tpu.outside_compilation(on_the_host, x * 2.0)


def of_a_gradient(x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = x**3.0
        first = inner.gradient(loss, x)
    return outer.gradient(first, x)


def of_a_function(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.function(lambda v: v * v)(x)
    return tape.gradient(loss, x)


def of_a_loop(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (0, x), maximum_iterations=3
        )[1]
    return tape.gradient(loss, x)


def that_computes_again(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.recompute_grad(lambda v: tf.sin(v) * v)(x)
    return tape.gradient(loss, x)


PROGRAMS = [
    of_a_mean,
    of_a_host_cluster,
    in_a_host_cluster,
    of_a_gradient,
    of_a_function,
    of_a_loop,
    that_computes_again,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("functions_run_eagerly", [False, True])
def test_a_tape_in_an_eager_call_records(
    program: Callable[[Any], Any], functions_run_eagerly: bool
) -> None:
    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        return tpu.rewrite(program, [x])

    expected = step(tf.constant(X))[0].numpy()
    tf.config.run_functions_eagerly(functions_run_eagerly)
    try:
        values = tpu.rewrite(program, [tf.constant(X)])[0].numpy()
    finally:
        tf.config.run_functions_eagerly(False)
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert np.any(values)


def test_a_tape_around_the_call_is_of_use_inside_it() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        values = tpu.rewrite(lambda v: tape.gradient(v * v, v), [x])[0]
    np.testing.assert_allclose(values, 2.0 * X)


def test_a_tape_that_is_stopped_around_the_call_stays_stopped() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            values = tpu.rewrite(lambda v: v * 2.0, [x])[0]
        assert tape.gradient(values * x, x) is not None
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError):
            tpu.rewrite(lambda v: 1 // 0, [x])
        doubled = x * 2.0
    np.testing.assert_allclose(tape.gradient(doubled, x), [2.0, 2.0, 2.0])


def test_training_steps_of_replicas() -> None:
    variable = tf.Variable([2.0, 3.0, 4.0])

    def computation(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((variable * x - 1.0) ** 2.0)
        variable.assign_sub(0.01 * tpu.cross_replica_sum(tape.gradient(loss, variable)))
        return loss

    losses = [tpu.replicate(computation, [[tf.constant(X)]] * 2) for _ in range(3)]
    values = [float(replica[0]) for step in losses for replica in step]
    assert values[0::2] == values[1::2]
    assert values[0] > values[2] > values[4]
