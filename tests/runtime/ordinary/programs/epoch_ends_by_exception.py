"""Epochs that end by OutOfRangeError."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(16).batch(4))


@tf.function
def step(iterator):
    return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(next(iterator),)), axis=None)


for epoch in range(3):
    iterator = iter(data)
    try:
        while True:
            print("epoch", epoch, int(step(iterator)))
    except tf.errors.OutOfRangeError:
        print("epoch", epoch, "ends")
