"""The last batch is smaller than the others."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(14).batch(4))


@tf.function
def step(batch):
    def replica(x):
        return tf.reduce_sum(x), tf.size(x)

    total, size = strategy.run(replica, args=(batch,))
    return strategy.reduce("SUM", total, axis=None), strategy.reduce("SUM", size, axis=None)


for epoch in range(2):
    for batch in data:
        print("epoch", epoch, *map(int, step(batch)))
