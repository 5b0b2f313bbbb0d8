"""Two models that are trained in turns, as in a GAN."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weights = {"generator": tf.Variable(0.5), "discriminator": tf.Variable(-0.5)}
    optimizers = {name: tf.keras.optimizers.SGD(0.1) for name in weights}
    for name, optimizer in optimizers.items():
        optimizer.build([weights[name]])


@tf.function
def step(noise):
    def replica(noise):
        with tf.GradientTape(persistent=True) as tape:
            fake = noise * weights["generator"]
            verdict = tf.sigmoid(fake * weights["discriminator"])
            losses = {"generator": -tf.math.log(verdict), "discriminator": tf.math.log(verdict)}
        for name, loss in losses.items():
            gradient = tape.gradient(loss, weights[name])
            optimizers[name].apply_gradients([(gradient, weights[name])])
        return losses["generator"]

    return strategy.reduce("MEAN", strategy.run(replica, args=(noise,)), axis=None)


for number in range(4):
    print(f"{float(step(tf.constant(float(number)))):.4f}")
    print(*[f"{name} {weight.numpy():.4f}" for name, weight in weights.items()])
