"""TerminateOnNaN, and a smaller learning rate."""

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


for rate in (1e30, 0.1):
    model = make_model()
    model.optimizer.learning_rate.assign(rate)
    history = model.fit(
        x,
        2.0 * y,
        batch_size=4,
        epochs=3,
        shuffle=False,
        callbacks=[tf.keras.callbacks.TerminateOnNaN()],
        verbose=0,
    )
    print(len(history.history["loss"]))
