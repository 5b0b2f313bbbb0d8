"""The strategy and its variables are made anew, as a notebook's cell does."""

import tensorflow as tf
from devices import make_strategy

for cell in range(3):
    strategy = make_strategy()
    with strategy.scope():
        weight = tf.Variable(float(cell))

    @tf.function
    def step(strategy=strategy, weight=weight):
        strategy.run(lambda: weight.assign_add(1.0))

    for _ in range(2):
        step()
    print("cell", cell, weight.numpy())
