"""Training and evaluation take turns."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
train = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
evaluation = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8, 12).batch(2))
with strategy.scope():
    weight = tf.Variable(0.0)
    optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(batch):
    def replica(x):
        x = tf.cast(x, tf.float32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * weight - 2.0 * x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [weight]), [weight], strict=True))
        return loss

    return strategy.reduce("MEAN", strategy.run(replica, args=(batch,)), axis=None)


@tf.function
def evaluate(batch):
    def replica(x):
        return tf.reduce_mean(tf.cast(x, tf.float32) * weight)

    return strategy.reduce("MEAN", strategy.run(replica, args=(batch,)), axis=None)


for _ in range(3):
    for batch in train:
        print(f"loss {float(train_step(batch)):.4f}")
    print("evaluation", *[f"{float(evaluate(batch)):.4f}" for batch in evaluation])
