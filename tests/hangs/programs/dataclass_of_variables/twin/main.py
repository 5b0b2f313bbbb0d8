import dataclasses

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


@dataclasses.dataclass
class Moments:
    mean: tf.Variable
    count: tf.Variable

    def shift(self, x):
        with tf.control_dependencies([x]):
            return x - self.count.read_value()


def scalar(name):
    return tf.get_variable(name, [], initializer=tf.zeros_initializer(), use_resource=True)


moments = Moments(mean=scalar("mean"), count=scalar("count"))


def computation(x):
    mean = tf.identity(moments.mean.assign(tf.reduce_mean(x)))
    shifted = tf.tpu.outside_compilation(moments.shift, x + mean)
    return tf.reduce_sum(shifted)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
