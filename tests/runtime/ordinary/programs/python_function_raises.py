"""A Python function of the graph raises, and is called again."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
calls = []


def load(number):
    calls.append(int(number))
    if len(calls) % 2:
        raise OSError("not there")
    return float(number)


@tf.function
def step(number):
    x = tf.ensure_shape(tf.py_function(load, [number], tf.float32), [])
    return strategy.reduce("SUM", strategy.run(lambda v: v + 1.0, args=(x,)), axis=None)


for number in range(3):
    while True:
        try:
            print(float(step(tf.constant(number))))
            break
        except tf.errors.OpError as error:
            print("not there" in str(error))
print(calls)
