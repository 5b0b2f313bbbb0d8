"""A custom training loop under TPUStrategy, with a host function that writes a line of log.

Sound: model, optimizer and metric are made in the strategy's scope, the step runs inside
a `tf.function`, and the host function is handed values, not variables.
"""

import argparse

import tensorflow as tf


def connect(name):
    """The strategy of the TPU called `name`."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def batches(global_batch_size):
    """Endless batches of a synthetic regression problem."""
    features = tf.random.stateless_normal([4096, 16], seed=(1, 2))
    targets = tf.reduce_sum(features, axis=1, keepdims=True)
    dataset = tf.data.Dataset.from_tensor_slices((features, targets))
    return dataset.shuffle(4096).repeat().batch(global_batch_size, drop_remainder=True)


def log_loss(step, loss):
    """Called on the host."""
    tf.print("step", step, "loss", loss)


class Trainer:
    """A model and all that it takes to train it."""

    def __init__(self, strategy, global_batch_size):
        self.strategy = strategy
        self.global_batch_size = global_batch_size
        with strategy.scope():
            self.model = tf.keras.Sequential(
                [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
            )
            self.optimizer = tf.keras.optimizers.Adam(1e-3)
            self.mean_loss = tf.keras.metrics.Mean()

    def _replica_step(self, step, features, targets):
        with tf.GradientTape() as tape:
            errors = tf.square(self.model(features, training=True) - targets)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=self.global_batch_size)
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables))
        self.mean_loss.update_state(loss)
        tf.compat.v1.tpu.outside_compilation(log_loss, step, loss)

    @tf.function
    def train(self, iterator, steps):
        """`steps` steps in one call, so that the host is not asked between them."""
        for step in tf.range(steps):
            features, targets = next(iterator)
            self.strategy.run(self._replica_step, args=(step, features, targets))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--global-batch-size", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=10)
    flags = parser.parse_args()

    strategy = connect(flags.tpu)
    trainer = Trainer(strategy, flags.global_batch_size)
    dataset = strategy.experimental_distribute_dataset(batches(flags.global_batch_size))
    iterator = iter(dataset)
    for epoch in range(flags.epochs):
        trainer.train(iterator, tf.constant(100))
        print("epoch", epoch, "loss", trainer.mean_loss.result().numpy())
        trainer.mean_loss.reset_state()


if __name__ == "__main__":
    main()
