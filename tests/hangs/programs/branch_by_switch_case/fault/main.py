import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def computation(x):
    index = tf.argmax(x, output_type=tf.int32)
    branches = [lambda: tf.tpu.cross_replica_sum(x), lambda: x * 2.0]
    return tf.switch_case(index, branches)


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 0.0])], [tf.constant([0.0, 1.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
