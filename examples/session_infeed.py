"""A TensorFlow 1 program: a graph and a session, `tpu.shard`, a loop on the device, infeed.

Each call of the training operation runs `--iterations` steps on all cores; a thread of the host
fills the cores' infeed queues meanwhile. `tpu.rewrite` then scores the model on one core, and its
host function writes a line of log. Sound: what the host needs comes to it as a value.

    python examples/session_infeed.py --master grpc://my-tpu:8470 --cores 8
"""

import argparse
import threading

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.tpu import tpu_feed, training_loop

FEATURES = 8


def batch(random, size):
    """A batch of a linear regression problem."""
    features = random.standard_normal([size, FEATURES]).astype(np.float32)
    targets = features.sum(axis=1, keepdims=True) - 1.0
    return features, targets.astype(np.float32)


class Regression:
    """Weights, and what a core does with them."""

    def __init__(self, learning_rate):
        zeros = tf.zeros_initializer()
        with tf.variable_scope("regression", use_resource=True):
            self.weights = tf.get_variable("weights", [FEATURES, 1], initializer=zeros)
            self.bias = tf.get_variable("bias", [], initializer=zeros)
        self.optimizer = tf.tpu.CrossShardOptimizer(
            tf.train.GradientDescentOptimizer(learning_rate)
        )

    def loss(self, features, targets):
        predictions = tf.matmul(features, self.weights) + self.bias
        return tf.reduce_mean(tf.square(predictions - targets))

    def train_step(self, last_loss, features, targets):
        del last_loss
        loss = self.loss(features, targets)
        with tf.control_dependencies([self.optimizer.minimize(loss)]):
            return tf.identity(loss)

    def score(self, features, targets):
        loss = self.loss(features, targets)
        return tf.tpu.outside_compilation(report, loss)


def report(loss):
    """Called on the host."""
    with tf.control_dependencies([tf.print("scored, the loss is", loss)]):
        return tf.identity(loss)


def feed(session, enqueue, placeholders, flags):
    """Called in a thread of its own: the batches of all steps, one after the other."""
    random = np.random.default_rng(1)
    for _ in range(flags.calls * flags.iterations):
        values = batch(random, flags.batch_size)
        session.run(enqueue, dict(zip(placeholders, values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master", default="")
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    flags = parser.parse_args()

    with tf.Graph().as_default():
        model = Regression(flags.learning_rate)
        shapes = [[flags.batch_size, FEATURES], [flags.batch_size, 1]]
        placeholders = [tf.placeholder(tf.float32, shape) for shape in shapes]
        queue = tpu_feed.InfeedQueue(
            number_of_tuple_elements=2,
            tuple_types=[tf.float32, tf.float32],
            tuple_shapes=shapes,
            shard_dimensions=[0, 0],
        )

        def train():
            start = tf.constant(0.0)
            return training_loop.repeat(
                flags.iterations, model.train_step, [start], infeed_queue=queue
            )

        (losses,) = tf.tpu.shard(train, num_shards=flags.cores, outputs_from_all_shards=True)
        enqueue = queue.split_inputs_and_generate_enqueue_ops(placeholders)
        held_out = [tf.constant(value) for value in batch(np.random.default_rng(2), 64)]
        (scored,) = tf.tpu.rewrite(lambda x, y: model.score(x, y), held_out)

        with tf.Session(flags.master) as session:
            session.run(tf.tpu.initialize_system())
            session.run(tf.global_variables_initializer())
            arguments = (session, enqueue, placeholders, flags)
            feeder = threading.Thread(target=feed, args=arguments, daemon=True)
            feeder.start()
            for call in range(flags.calls):
                print("call", call, "mean loss", session.run(losses).mean())
            feeder.join()
            print("score", session.run(scored))
            session.run(tf.tpu.shutdown_system())


if __name__ == "__main__":
    main()
