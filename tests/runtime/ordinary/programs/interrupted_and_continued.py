"""Ctrl-C between two steps; the next cell of the notebook goes on."""

import signal

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(0.0)


@tf.function
def step():
    strategy.run(lambda: weight.assign_add(1.0))


def train(steps, interrupted_at=None):
    for number in range(steps):
        step()
        if number == interrupted_at:
            signal.raise_signal(signal.SIGINT)


for cell in range(2):
    try:
        train(10, interrupted_at=2 + cell)
    except KeyboardInterrupt:
        print("interrupted at", weight.numpy())
train(4)
print(weight.numpy())
