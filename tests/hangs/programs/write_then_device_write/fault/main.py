import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

value = tf.get_variable("value", [], initializer=tf.zeros_initializer(), use_resource=True)


def begin():
    return tf.identity(value.assign(10.0))


def computation(x):
    grown = value.assign_add(tf.reduce_sum(x))
    return tf.identity(grown), tf.tpu.outside_compilation(begin)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
