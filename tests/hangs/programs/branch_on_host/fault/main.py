import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

threshold = tf.get_variable("threshold", [], initializer=tf.ones_initializer(), use_resource=True)


def choose(value):
    return tf.cond(value > 1.0, lambda: value * threshold.read_value(), lambda: value)


def computation(x):
    value = tf.reduce_sum(x)
    raised = threshold.assign(value)
    with tf.control_dependencies([raised]):
        chosen = tf.tpu.outside_compilation(choose, tf.identity(value))
    return chosen + raised


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
