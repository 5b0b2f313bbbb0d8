import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def mean_of_all(x):
    return tf.tpu.cross_replica_sum(tf.reduce_mean(x)) / 2.0


def computation(x):
    padded = tf.reduce_any(tf.equal(x, 0.0))
    return tf.cond(padded, lambda: tf.reduce_mean(x), lambda: mean_of_all(x))


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])], [tf.constant([1.0, 0.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
