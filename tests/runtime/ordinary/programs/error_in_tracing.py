"""A step that cannot be traced, and one that can."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


def make(fn):
    @tf.function
    def step(x):
        return strategy.reduce("SUM", strategy.run(fn, args=(x,)), axis=None)

    return step


def wrong_shapes(x):
    return tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])) + x


def raises(x):
    raise RuntimeError("a bug of the user's")


for fn in (tf.square, wrong_shapes, tf.square, raises, tf.square):
    try:
        print(float(make(fn)(tf.constant(3.0))))
    except (ValueError, RuntimeError) as error:
        print(type(error).__name__)
