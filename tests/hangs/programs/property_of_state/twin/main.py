import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Normalizer:
    def __init__(self):
        self._mean = tf.get_variable(
            "mean", [], initializer=tf.zeros_initializer(), use_resource=True
        )

    @property
    def mean(self):
        return self._mean.read_value()

    def update(self, x):
        return self._mean.assign(0.9 * self._mean + 0.1 * tf.reduce_mean(x))

    def center(self, x):
        with tf.control_dependencies([x]):
            return x - 1.0


normalizer = Normalizer()


def computation(x):
    mean = normalizer.update(x)
    centered = tf.tpu.outside_compilation(normalizer.center, x + mean)
    return tf.reduce_sum(centered)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
