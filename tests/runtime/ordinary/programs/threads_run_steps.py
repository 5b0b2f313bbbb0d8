"""Threads run steps of one model and of their own."""

from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


def make_step(factor):
    @tf.function
    def step(x):
        tf.debugging.assert_non_negative(x)
        per_replica = strategy.run(lambda v: v * factor, args=(x,))
        return strategy.reduce("SUM", per_replica, axis=None)

    return step


def work(factor):
    lines = []
    own = make_step(factor)
    for value in (1.0, -1.0, 2.0):
        for step in (shared, own):
            try:
                lines.append(float(step(tf.constant(value))))
            except tf.errors.InvalidArgumentError:
                lines.append("fails")
    return lines


shared = make_step(10.0)
with ThreadPoolExecutor(3) as pool:
    for lines in pool.map(work, (2.0, 3.0, 4.0)):
        print(*lines)
