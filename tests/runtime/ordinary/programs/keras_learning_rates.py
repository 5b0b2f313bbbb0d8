"""A LearningRateScheduler, and a rate assigned between two fits."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
x = tf.reshape(tf.range(32, dtype=tf.float32), [16, 2]) / 32.0
y = tf.reduce_sum(x, axis=1, keepdims=True)


def make_model():
    with strategy.scope():
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        model = tf.keras.Sequential([tf.keras.Input([2]), layer])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model


def result(history):
    weights = history.model.get_weights()[0].ravel()
    return len(history.epoch), [f"{weight:.4f}" for weight in weights]


model = make_model()
schedule = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
for rate in (0.2, 0.1):
    model.optimizer.learning_rate.assign(rate)
    history = model.fit(
        x, 2.0 * y, batch_size=8, epochs=3, shuffle=False, callbacks=[schedule], verbose=0
    )
    print(result(history), f"{float(model.optimizer.learning_rate.numpy()):.4f}")
