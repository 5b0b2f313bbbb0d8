"""Two iterators, of which the shorter starts again when it ends."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
train = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(32).batch(4)))
short = strategy.experimental_distribute_dataset(tf.data.Dataset.range(100, 112).batch(4))


@tf.function
def step(iterator):
    return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(next(iterator),)), axis=None)


held_out = iter(short)
for _ in range(8):
    print("train", int(step(train)))
    try:
        print("held out", int(step(held_out)))
    except tf.errors.OutOfRangeError:
        held_out = iter(short)
        print("starts again", int(step(held_out)))
