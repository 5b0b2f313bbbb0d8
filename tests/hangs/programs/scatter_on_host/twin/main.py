import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

memory = tf.get_variable("memory", [4, 2], initializer=tf.ones_initializer(), use_resource=True)
archive = tf.get_variable("archive", [4, 2], initializer=tf.ones_initializer(), use_resource=True)


def store(index, row):
    written = tf.scatter_update(archive, index, row)
    with tf.control_dependencies([written]):
        return tf.reduce_sum(row)


def computation(x):
    row = tf.gather(memory, [1]) + x
    stored = tf.tpu.outside_compilation(store, tf.constant([2]), row)
    return stored + 1.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
