"""A schedule of learning rates, and a rate that is assigned."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(1.0)
    decays = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    optimizers = [tf.keras.optimizers.SGD(decays), tf.keras.optimizers.SGD(0.1)]
    for optimizer in optimizers:
        optimizer.build([weight])


def make(optimizer):
    @tf.function
    def step():
        def replica():
            with tf.GradientTape() as tape:
                loss = weight**2
            optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

        strategy.run(replica)

    return step


scheduled, assigned = map(make, optimizers)
for number in range(3):
    scheduled()
    print(f"{weight.numpy():.5f}")
    optimizers[1].learning_rate = 0.1 * number
    assigned()
    print(f"{weight.numpy():.5f}")
