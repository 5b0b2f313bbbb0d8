import tensorflow.compat.v1 as tf

counter = None
unit = None


def setup():
    global counter, unit
    counter = tf.get_variable("counter", [], initializer=tf.zeros_initializer(), use_resource=True)
    unit = tf.get_variable("unit", [], initializer=tf.ones_initializer(), use_resource=True)


def show(loss):
    with tf.control_dependencies([loss]):
        return loss / (1.0 + counter.read_value())
