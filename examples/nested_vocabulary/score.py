"""Score bags of words on all cores of a TPU.

`log_batch` already runs on the host when it calls `Vocabulary.report`, which goes to the
host by itself: a host cluster inside a host cluster, two modules apart.
"""

import argparse

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1 import tpu

from .vocabulary import Vocabulary

WORDS = ["a", "of", "the", "tpu", "hangs", "runs"]


class Scorer:
    """A weight a word."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.weights = tf.get_variable("weights", [vocabulary.size], use_resource=True)

    def score(self, numbers):
        """The mean weight of each row of `numbers`, on the device."""
        scores = tf.reduce_mean(tf.gather(self.weights, numbers), axis=1)
        tpu.outside_compilation(self.log_batch, numbers, scores)
        return scores

    def log_batch(self, numbers, scores):
        """Called on the host."""
        tf.print("mean score", tf.reduce_mean(scores))
        self.vocabulary.report(tf.reshape(numbers, [-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master", default="")
    parser.add_argument("--cores", type=int, default=8)
    flags = parser.parse_args()

    with tf.Graph().as_default():
        vocabulary = Vocabulary(WORDS)
        scorer = Scorer(vocabulary)
        numbers = tf.random.uniform([128, 16], maxval=vocabulary.size, dtype=tf.int32)

        def computation(numbers):
            return scorer.score(numbers)

        (scores,) = tpu.shard(computation, inputs=[numbers], num_shards=flags.cores)
        with tf.Session(flags.master) as session:
            session.run(tpu.initialize_system())
            session.run(tf.global_variables_initializer())
            print(session.run(scores))


if __name__ == "__main__":
    main()
