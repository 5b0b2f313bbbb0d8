"""A checkpoint is restored after steps that were wrong."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build([weight])


@tf.function
def step(x):
    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight**2) * x
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

    strategy.run(replica, args=(x,))


checkpoint = tf.train.Checkpoint(weight=weight)
step(tf.constant(0.5))
path = checkpoint.save("checkpoint")
print(*[f"{value:.4f}" for value in weight.numpy()])
step(tf.constant(100.0))
print(*[f"{value:.2f}" for value in weight.numpy()])
checkpoint.restore(path).assert_existing_objects_matched()
print(*[f"{value:.4f}" for value in weight.numpy()])
step(tf.constant(0.0))
print(weight.shape)
