"""main returns when the loss is small, with an iterator left open."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    loss = tf.Variable(16.0)
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(100).batch(4))


@tf.function
def step(iterator):
    def replica(_):
        return loss.assign(loss / 2.0)

    return strategy.reduce("MEAN", strategy.run(replica, args=(next(iterator),)), axis=None)


def main():
    iterator = iter(data)
    while True:
        value = float(step(iterator))
        print(value)
        if value < 1.5:
            return value


print("returned", main())
print("returned", main())
