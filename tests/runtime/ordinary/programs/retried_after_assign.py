"""A variable that fails the check of a step is assigned, and the step runs."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    scale = tf.Variable(-1.0)


@tf.function
def step(x):
    tf.debugging.assert_positive(scale.read_value())
    return strategy.reduce("SUM", strategy.run(lambda v: v * scale, args=(x,)), axis=None)


for value in (-1.0, 3.0, -2.0, 4.0):
    scale.assign(value)
    try:
        print(float(step(tf.constant(2.0))))
    except tf.errors.InvalidArgumentError as error:
        print(type(error).__name__)
        scale.assign(1.0)
        print("again", float(step(tf.constant(2.0))))
