import tensorflow.compat.v1 as tf


class Meter:
    def __init__(self, name):
        self.average = tf.get_variable(
            name, shape=[], initializer=tf.ones_initializer(), use_resource=True
        )

    def update(self, loss):
        return self.average.assign(0.9 * self.average + 0.1 * loss)

    def ratio(self, loss, average):
        return loss / average
