"""Iterators, functions and variables are deleted during training."""

import gc

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
for number in range(4):
    with strategy.scope():
        weight = tf.Variable(float(number))
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2))
    iterator = iter(data)

    @tf.function
    def step(iterator, weight=weight):
        def replica(x):
            return tf.cast(tf.reduce_sum(x), tf.float32) + weight

        return strategy.run(replica, args=(next(iterator),))

    print(float(strategy.reduce("SUM", step(iterator), axis=None)))
    del weight, data, iterator, step
    gc.collect()
