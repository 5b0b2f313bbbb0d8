import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

seen = tf.get_variable("seen", [], initializer=tf.zeros_initializer(), use_resource=True)


def count(rows):
    return seen.assign_add(tf.cast(tf.size(rows), tf.float32) + 0.0 * tf.reduce_sum(rows))


def computation(rows):
    share = 1.0 / (1.0 + seen.read_value())
    counted = tf.tpu.outside_compilation(count, rows * share)
    return tf.reduce_sum(rows) * counted


outputs = tf.tpu.batch_parallel(computation, [tf.ones([4, 2])], num_shards=2)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
