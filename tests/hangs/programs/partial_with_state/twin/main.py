import functools

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def keep(variable, value):
    variable.assign(value)


state = tf.get_variable("state", [2], initializer=tf.zeros_initializer(), use_resource=True)
copy = tf.get_variable("copy", [2], initializer=tf.zeros_initializer(), use_resource=True)


def computation(x):
    value = tf.tanh(x + state.read_value())
    tf.tpu.outside_compilation(functools.partial(keep, copy), value)
    return tf.reduce_sum(value)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
