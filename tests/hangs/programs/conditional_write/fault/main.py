import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

best = tf.get_variable("best", [], initializer=tf.zeros_initializer(), use_resource=True)
kept = tf.get_variable("kept", [], initializer=tf.zeros_initializer(), use_resource=True)


def keep(value):
    return tf.cond(value > 1.0, lambda: tf.identity(best.assign(value)), lambda: value)


def computation(x):
    value = tf.reduce_max(x) - best.read_value()
    return value, tf.tpu.outside_compilation(keep, value)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
