"""A loss that is not finite ends the step; a smaller rate goes on."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(1.0)
rate = tf.Variable(1e30)


@tf.function
def step(factor):
    def replica(factor):
        weight.assign(weight * factor)
        return weight * weight

    loss = strategy.reduce("MEAN", strategy.run(replica, args=(factor,)), axis=None)
    with tf.control_dependencies([tf.debugging.assert_all_finite(loss, "diverged")]):
        return tf.identity(loss)


for _ in range(6):
    try:
        print(f"{float(step(rate.read_value())):.4f}")
    except tf.errors.InvalidArgumentError as error:
        print("diverged" in str(error))
        weight.assign(1.0)
        rate.assign(0.5)
