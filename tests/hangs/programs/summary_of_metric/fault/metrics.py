import tensorflow.compat.v1 as tf


class Sum:
    def __init__(self, name):
        self.total = tf.get_variable(
            name, [], initializer=tf.zeros_initializer(), use_resource=True
        )

    def add(self, value):
        self.total.assign_add(value)
