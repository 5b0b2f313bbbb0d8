import tensorflow.compat.v1 as tf


class Trainer:
    def update(self, loss):
        raise NotImplementedError

    def on_host(self, loss):
        raise NotImplementedError

    def computation(self, x):
        updated = self.update(tf.reduce_sum(x))
        return updated * tf.tpu.outside_compilation(self.on_host, updated)
