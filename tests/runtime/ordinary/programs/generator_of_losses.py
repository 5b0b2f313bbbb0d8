"""Training as a generator, that is closed before its end."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(lambda v: v**2, args=(x,)), axis=None)


def losses():
    try:
        for number in range(100):
            yield float(step(tf.constant(float(number))))
    finally:
        print("closed after", float(step(tf.constant(0.5))))


for loss in losses():
    print(loss)
    if loss > 20.0:
        break
training = losses()
print(next(training), next(training))
training.close()
