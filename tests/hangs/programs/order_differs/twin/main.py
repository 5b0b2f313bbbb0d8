import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def computation(x, y):
    total_x, total_y = tf.tpu.cross_replica_sum(x), tf.tpu.cross_replica_sum(y)

    def first():
        return total_x - y

    def second():
        return x - total_y

    return tf.cond(x > y, first, second)


outputs = tf.tpu.replicate(
    computation,
    [[tf.constant(1.0), tf.constant(2.0)], [tf.constant(3.0), tf.constant(0.0)]],
)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
