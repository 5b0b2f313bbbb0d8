"""Conditionals and loops in the step, that depend on data."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(n):
    def replica(n):
        total = tf.constant(0)
        for i in tf.range(10):
            if i >= n:
                break
            if i % 2 == 0:
                continue
            total += i
        while total > 5:
            total -= 3
        return tf.cond(total > 2, lambda: total * 10, lambda: total - 10)

    return strategy.reduce("SUM", strategy.run(replica, args=(n,)), axis=None)


print(*[int(step(tf.constant(n))) for n in range(8)])
