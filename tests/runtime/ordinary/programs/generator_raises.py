"""A Python generator of data that raises in the middle of an epoch."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
attempts = []


def elements():
    attempts.append(1)
    for number in range(6):
        if number == 4 and len(attempts) < 3:
            raise ValueError("lost the connection")
        yield number


data = tf.data.Dataset.from_generator(elements, output_signature=tf.TensorSpec([], tf.int32))
data = strategy.experimental_distribute_dataset(data.batch(2, drop_remainder=True))


@tf.function
def step(x):
    return strategy.run(tf.reduce_sum, args=(x,))


for epoch in range(4):
    try:
        for batch in data:
            print("epoch", epoch, int(strategy.reduce("SUM", step(batch), axis=None)))
    except tf.errors.OpError as error:
        print("epoch", epoch, "lost the connection" in str(error))
print(len(attempts) >= 3)
