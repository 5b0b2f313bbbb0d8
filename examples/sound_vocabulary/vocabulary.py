"""Words and their numbers; strings live on the host."""

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1 import tpu


def on_host(function, *args):
    """Run `function` on the host of this replica."""
    return tpu.outside_compilation(function, *args)


class Vocabulary:
    """A fixed list of words, with one number for all others."""

    def __init__(self, words):
        self.words = tf.constant(words)
        self.size = len(words) + 1

    def spell(self, numbers):
        """The words of `numbers`, for a reader of the log."""
        known = tf.minimum(numbers, self.size - 2)
        return tf.where(numbers < self.size - 1, tf.gather(self.words, known), self._unknown(known))

    def report(self, numbers):
        """Print a few words. The strings never reach the device."""

        def show():
            tf.print("words", self.spell(numbers[:8]))

        on_host(show)

    def _unknown(self, like):
        return tf.fill(tf.shape(like), "<unknown>")
