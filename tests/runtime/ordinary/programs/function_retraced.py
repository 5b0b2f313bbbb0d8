"""A step that is traced for other shapes and other Python values."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
traces = []


@tf.function
def step(x, training):
    traces.append(training)
    per_replica = strategy.run(lambda v: tf.reduce_sum(v) * (2.0 if training else 1.0), args=(x,))
    return strategy.reduce("SUM", per_replica, axis=None)


for size in (2, 3, 2):
    for training in (True, False):
        print(float(step(tf.ones([size]), training)))
print(traces)
