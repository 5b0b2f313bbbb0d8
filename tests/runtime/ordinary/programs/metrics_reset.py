"""Metrics are reset between epochs."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    mean = tf.keras.metrics.Mean()
    accuracy = tf.keras.metrics.BinaryAccuracy()
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))


@tf.function
def step(batch):
    def replica(x):
        x = tf.cast(x, tf.float32)
        mean.update_state(x)
        accuracy.update_state(tf.cast(x > 3.0, tf.float32)[:, None], (x / 8.0)[:, None])

    strategy.run(replica, args=(batch,))


for epoch in range(3):
    for batch in data:
        step(batch)
    print("epoch", epoch, f"{float(mean.result()):.4f} {float(accuracy.result()):.4f}")
    if epoch != 1:
        mean.reset_state()
        accuracy.reset_state()
