"""A thread ends by an exception, and the main thread goes on."""

import threading

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(x):
    tf.debugging.assert_positive(x)
    return strategy.reduce("SUM", strategy.run(lambda v: v + 1.0, args=(x,)), axis=None)


def work():
    print(float(step(tf.constant(1.0))))
    step(tf.constant(-1.0))


threading.excepthook = lambda arguments: print("a thread ends by", arguments.exc_type.__name__)
for _ in range(2):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(float(step(tf.constant(2.0))))
threading.excepthook = threading.__excepthook__
