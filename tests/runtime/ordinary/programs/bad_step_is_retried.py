"""A step that finds a bad batch raises; it is given another."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(2.0)


@tf.function
def step(x):
    tf.debugging.assert_all_finite(x, "bad batch")
    return strategy.reduce("SUM", strategy.run(lambda v: v * weight, args=(x,)), axis=None)


for value in (1.0, float("nan"), 2.0, float("inf"), 3.0):
    for attempt in range(3):
        try:
            print("attempt", attempt, float(step(tf.constant(value))))
            break
        except tf.errors.InvalidArgumentError:
            print("attempt", attempt, "fails")
            value = 0.5
