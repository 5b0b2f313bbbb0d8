import tensorflow.compat.v1 as tf


def monitored(value, bound):
    def compare(v):
        with tf.control_dependencies([v]):
            return tf.minimum(v, bound.read_value())

    return tf.tpu.outside_compilation(compare, value)
