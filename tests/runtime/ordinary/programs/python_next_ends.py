"""The end of the data as StopIteration of Python's next."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(x):
    return strategy.run(tf.reduce_sum, args=(x,))


data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
for epoch in range(2):
    iterator = iter(data)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            print("epoch", epoch, "ends")
            break
        print(int(strategy.reduce("SUM", step(batch), axis=None)))
    print(next(iterator, "none"))
