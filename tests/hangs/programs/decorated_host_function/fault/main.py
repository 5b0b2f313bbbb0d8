import functools

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

momentum = tf.get_variable("momentum", [], initializer=tf.ones_initializer(), use_resource=True)


def on_host(function):
    @functools.wraps(function)
    def call(*arguments):
        return tf.tpu.outside_compilation(function, *arguments)

    return call


@on_host
def damp(value):
    return value * momentum.read_value()


def computation(x):
    value = tf.reduce_sum(x)
    changed = momentum.assign(0.5 * value)
    with tf.control_dependencies([changed]):
        damped = damp(tf.identity(value))
    return damped + changed


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
