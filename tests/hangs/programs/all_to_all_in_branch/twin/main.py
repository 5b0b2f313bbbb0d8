import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu.ops import tpu_ops


def computation(x):
    def exchanged():
        return tpu_ops.all_to_all(x, 1, 0, 2, group_assignment=[[0, 1]])

    y = exchanged()
    return tf.cond(tf.reduce_sum(x) > 1.0, lambda: y, lambda: y * 2.0)


outputs = tf.tpu.replicate(computation, [[tf.ones([2, 1])], [tf.zeros([2, 1])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
