"""An element of the data that cannot be made is skipped."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


def checked(x):
    with tf.control_dependencies([tf.debugging.assert_none_equal(x, tf.constant(2, tf.int64))]):
        return tf.identity(x)


data = tf.data.Dataset.range(6).map(checked).batch(1, drop_remainder=True)


@tf.function
def step(x):
    return strategy.run(lambda v: v + 1, args=(x,))


for epoch in range(2):
    iterator = iter(data)
    for _ in range(10):
        try:
            value = step(next(iterator))
            print("epoch", epoch, int(strategy.reduce("SUM", value, axis=None)[0]))
        except tf.errors.InvalidArgumentError:
            print("epoch", epoch, "skips one")
        except StopIteration:
            break
