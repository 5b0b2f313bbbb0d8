"""Data that is prefetched, shuffled with a seed, repeated, and left before its end."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
data = tf.data.Dataset.range(64).shuffle(8, seed=1, reshuffle_each_iteration=False).repeat()
data = strategy.experimental_distribute_dataset(
    data.batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
)


@tf.function
def step(x):
    return strategy.run(tf.reduce_sum, args=(x,))


for _ in range(3):
    for number, batch in enumerate(data):
        print(int(strategy.reduce("SUM", step(batch), axis=None)))
        if number == 2:
            break
