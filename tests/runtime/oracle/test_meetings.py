"""Generated loops in which replicas meet, with clusters between: their values against NumPy's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu

pytestmark = pytest.mark.any_release

SEEDS = range(8)
SECONDS = 240.0
ONE_THREAD = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)


class Replicas:
    """Return a step of the loop in TensorFlow, in one replica of `count`."""

    def __init__(self, count: int, variable: Any) -> None:
        self.count = count
        self.variable = variable
        self.function = tf.function(self.mean, autograph=False)

    def mean(self, value: Any) -> Any:
        return tpu_ops.cross_replica_sum(value) / self.count

    def host(self, value: Any) -> Any:
        return tpu.outside_compilation(lambda x: x * 0.5 + 1.0, value)

    def python(self, value: Any) -> Any:
        def host(passed: Any) -> Any:
            called = tf.numpy_function(lambda x: x * np.float32(0.5), [passed], tf.float32)
            return tf.ensure_shape(called, [self.count])

        return tpu.outside_compilation(host, value)

    def groups(self, value: Any) -> Any:
        half = self.count // 2
        assignment = [list(range(half)), list(range(half, self.count))]
        return tpu_ops.cross_replica_sum(value, group_assignment=assignment) / self.count

    def exchange(self, value: Any) -> Any:
        return tpu_ops.all_to_all(
            value, concat_dimension=0, split_dimension=0, split_count=self.count
        )

    def around(self, value: Any) -> Any:
        pairs = [(core, (core + 1) % self.count) for core in range(self.count)]
        return tpu_ops.collective_permute(value, pairs)

    def read(self, value: Any) -> Any:
        return value + self.variable.read_value()

    def either(self, value: Any) -> Any:
        is_small = tf.reduce_sum(value) * 0.0 < 1.0
        return tf.cond(is_small, lambda: self.mean(value), lambda: value)

    def twice(self, value: Any) -> Any:
        return self.function(value) + self.function(value * 0.5)

    def inner(self, value: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 2, lambda i, v: (i + 1, self.mean(v) + v * 0.1), (0, value)
        )[1]


class Arrays:
    """The same for an array of all replicas' values, one a row."""

    def mean(self, rows: Any) -> Any:
        return np.broadcast_to(rows.mean(0), rows.shape)

    def host(self, rows: Any) -> Any:
        return rows * 0.5 + 1.0

    def python(self, rows: Any) -> Any:
        return rows * 0.5

    def groups(self, rows: Any) -> Any:
        halves = np.split(rows, 2)
        return np.concatenate([self.mean(half) * 0.5 for half in halves])

    def exchange(self, rows: Any) -> Any:
        return rows.T

    def around(self, rows: Any) -> Any:
        return np.roll(rows, 1, axis=0)

    def read(self, rows: Any) -> Any:
        return rows + 1.5

    def either(self, rows: Any) -> Any:
        return self.mean(rows)

    def twice(self, rows: Any) -> Any:
        return self.mean(rows) * 1.5

    def inner(self, rows: Any) -> Any:
        for _ in range(2):
            rows = self.mean(rows) + rows * 0.1
        return rows


STEPS = [name for name in vars(Arrays) if not name.startswith("_")]


def loop(do: Replicas, steps: list[str], times: int) -> Callable[[Any], Any]:
    def body(i: Any, value: Any) -> Any:
        for step in steps:
            value = getattr(do, step)(value)
        return i + 1, value

    return lambda x: tf.while_loop(lambda i, _: i < times, body, (0, x))[1]


def in_session(config: Any, steps: list[str], times: int, rows: Any) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        variable = tf.compat.v1.get_variable("v", initializer=1.5, use_resource=True)
        computation = loop(Replicas(len(rows), variable), steps, times)
        built = tpu.replicate(computation, [[tf.constant(row)] for row in rows])
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(built)
        return [value for (value,) in session.run(built)]


def in_function(steps: list[str], times: int, rows: Any) -> Any:
    computation = loop(Replicas(len(rows), tf.Variable(1.5)), steps, times)

    @tf.function(autograph=False)
    def step() -> Any:
        return [
            value for (value,) in tpu.replicate(computation, [[tf.constant(row)] for row in rows])
        ]

    step()
    return step()


@pytest.mark.parametrize("seed", SEEDS)
def test_hang_found_by_reading_nobody_takes_anothers_part(seed: int) -> None:
    chosen = random.Random(seed)
    count = chosen.choice([2, 4, 8])
    steps = [chosen.choice(STEPS) for _ in range(chosen.randint(2, 6))]
    times = chosen.randint(1, 5)
    rows = np.random.RandomState(seed).rand(count, count).astype(np.float32)
    want = rows.astype(np.float64)
    for step in steps * times:
        want = getattr(Arrays(), step)(want)
    with tpu.options(deadline=SECONDS):
        for got in (
            in_session(ONE_THREAD, steps, times, rows),
            in_session(None, steps, times, rows),
            in_function(steps, times, rows),
        ):
            np.testing.assert_allclose(got, want, rtol=1e-4, err_msg=f"{steps} {times} times")
