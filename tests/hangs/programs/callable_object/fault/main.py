import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Penalty:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, loss):
        with tf.control_dependencies([loss]):
            return loss + tf.reduce_sum(tf.abs(self.weight.read_value()))


weight = tf.get_variable("weight", [3], initializer=tf.ones_initializer(), use_resource=True)
penalty = Penalty(weight)


def computation(x):
    loss = tf.reduce_sum(x * weight)
    return weight.assign_sub(0.1 * x) + tf.tpu.outside_compilation(penalty, loss)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
