"""A whole epoch in one tf.function, several times."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(16).batch(4))
with strategy.scope():
    total = tf.Variable(0.0)


@tf.function
def epoch(data):
    steps = 0
    for batch in data:
        per_replica = strategy.run(lambda x: tf.cast(tf.reduce_sum(x), tf.float32), args=(batch,))
        total.assign_add(strategy.reduce("SUM", per_replica, axis=None))
        steps += 1
    return steps


for _ in range(3):
    steps = epoch(data)
    print("steps", int(steps), "total", total.numpy())
