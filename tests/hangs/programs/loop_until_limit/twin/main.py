import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def computation(x):
    def condition(value):
        return tf.tpu.cross_replica_sum(value) < 200.0

    def body(value):
        return value * 2.0

    return tf.while_loop(condition, body, [x])


outputs = tf.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(101.0)]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
