"""A model with a train_step of its own."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
x = tf.reshape(tf.range(16, dtype=tf.float32), [8, 2]) / 16.0


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
        self.mean = tf.keras.metrics.Mean(name="mean")

    def call(self, x):
        return self.dense(x)

    @property
    def metrics(self):
        return [self.mean]

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - 3.0) ** 2)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.mean.update_state(loss)
        return {"mean": self.mean.result()}


with strategy.scope():
    model = Model()
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05))
history = model.fit(x, batch_size=4, epochs=3, shuffle=False, verbose=0)
print([f"{value:.4f}" for value in history.history["mean"]])
