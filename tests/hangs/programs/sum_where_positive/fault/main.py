import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def computation(x):
    return tf.cond(x > 0.0, lambda: tf.tpu.cross_replica_sum(x), lambda: x)


outputs = tf.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(-1.0)]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
