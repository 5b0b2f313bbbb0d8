"""A tf.function that calls others, one of which raises."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def checked(x):
    tf.debugging.assert_less(x, 3.0)
    return x * 2.0


@tf.function
def step(x):
    per_replica = strategy.run(lambda v: v + 1.0, args=(checked(x),))
    return strategy.reduce("SUM", per_replica, axis=None)


@tf.function
def outer(x):
    return step(x) + step(x + 1.0)


for value in (0.0, 1.0, 2.0, 3.0, 1.5):
    try:
        print(float(outer(tf.constant(value))))
    except tf.errors.InvalidArgumentError:
        print("fails at", value)
