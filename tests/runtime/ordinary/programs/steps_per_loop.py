"""Several steps in one call, of which the last ends the data."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(20).batch(4))


@tf.function
def steps(iterator, number):
    loss = tf.constant(0, tf.int64)
    for _ in tf.range(number):
        per_replica = strategy.run(tf.reduce_sum, args=(next(iterator),))
        loss += strategy.reduce("SUM", per_replica, axis=None)
    return loss


for epoch in range(2):
    iterator = iter(data)
    while True:
        try:
            print(int(steps(iterator, tf.constant(2))))
        except tf.errors.OutOfRangeError:
            print("epoch", epoch, "ends")
            break
