"""sys.exit in the middle of training."""

import sys

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(x):
    return strategy.run(lambda v: v + 1.0, args=(x,))


def main():
    for number in range(10):
        loss = strategy.reduce("SUM", step(tf.constant(float(number))), axis=None)
        print(float(loss))
        if loss > 6.0:
            sys.exit(3)


try:
    main()
finally:
    print("cleans up")
