import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

offset = tf.get_variable("offset", [2], initializer=tf.zeros_initializer(), use_resource=True)


def computation(x):
    moved = tf.identity(offset.assign_add(x))
    with tf.control_dependencies([moved]):
        y = tf.tpu.outside_compilation(lambda v: v + offset.read_value(), moved)
    return tf.reduce_sum(y * y)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
