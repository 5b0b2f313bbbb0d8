import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True)


def log(value):
    with tf.control_dependencies([tf.print("value", value)]):
        return tf.identity(value)


def share(value):
    return value / (1.0 + total.read_value() + 0.0 * value)


def computation(x):
    value = tf.tpu.outside_compilation(log, tf.reduce_sum(x))
    added = total.assign_add(value)
    with tf.control_dependencies([added]):
        part = tf.tpu.outside_compilation(share, value * 1.0)
    return part * value


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
