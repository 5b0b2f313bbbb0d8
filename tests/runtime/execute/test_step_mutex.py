"""One built step, run by several threads at once: runs take turns, and nothing gets mixed up."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

RUNS = 15


def in_threads(run: Any) -> list[Any]:
    """Return the results of `run(number)` for 0 to 3, each many times, each in a thread."""
    actual: list[Any] = []
    errors: list[BaseException] = []

    def often(number: int) -> None:
        try:
            actual.extend((number, run(number)) for _ in range(RUNS))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=often, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120.0)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []
    return actual


def summed(x: Any) -> Any:
    return tpu.cross_replica_sum(x) + x


def sometimes_summed(x: Any) -> Any:
    """The other branch ends at once; so runs that got mixed up would miss each other."""
    whole = tpu.cross_replica_sum(tf.abs(x))
    return tf.cond(whole > 4.0, lambda: tpu.cross_replica_sum(x) + x, lambda: x * 3.0 + 0.0 * x)


def on_the_host(x: Any) -> Any:
    y = tpu.outside_compilation(
        lambda v: tf.ensure_shape(
            tf.numpy_function(lambda w: np.float32(w * 2.0), [v], tf.float32), []
        ),
        x,
    )
    return tpu.cross_replica_sum(y) + x


def expected(computation: Any, number: int) -> list[float]:
    first, second = float(number), number + 1.0
    whole = first + second
    if computation is summed or (computation is sometimes_summed and whole > 4.0):
        return [whole + first, whole + second]
    if computation is sometimes_summed:
        return [3.0 * first, 3.0 * second]
    return [2.0 * whole + first, 2.0 * whole + second]


@pytest.mark.parametrize("deadline", [None, 240.0])
@pytest.mark.parametrize("computation", [summed, sometimes_summed, on_the_host])
def test_in_a_session(computation: Any, deadline: float | None) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        with tpu.options(deadline=deadline):
            results = tpu.replicate(computation, [[x], [x + 1.0]])
        for number, actual in in_threads(lambda n: session.run(results, {x: n})):
            np.testing.assert_allclose(np.ravel(actual), expected(computation, number))


@pytest.mark.parametrize("deadline", [None, 240.0])
@pytest.mark.parametrize("computation", [summed, sometimes_summed, on_the_host])
def test_in_a_function(computation: Any, deadline: float | None) -> None:
    @tf.function
    def step(x: Any) -> Any:
        with tpu.options(deadline=deadline):
            return tpu.replicate(computation, [[x], [x + 1.0]])

    step(tf.constant(1.0))
    for number, actual in in_threads(lambda n: step(tf.constant(float(n)))):
        np.testing.assert_allclose(np.ravel(actual), expected(computation, number))


def test_a_run_that_fails_gives_up_its_turn() -> None:
    def computation(x: Any) -> Any:
        return tf.cond(x > 1.5, lambda: tpu.cross_replica_sum(x), lambda: x)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        results = tpu.replicate(computation, [[x], [tf.constant(2.0)]])

        def run(number: int) -> Any:
            try:
                return session.run(results, {x: number})
            except tpu.DivergentCollectiveError:
                return None

        for number, actual in in_threads(run):
            if number < 2:
                assert actual is None
            else:
                np.testing.assert_allclose(np.ravel(actual), [number + 2.0] * 2)
