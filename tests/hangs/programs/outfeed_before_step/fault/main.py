import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu.ops import tpu_ops


def computation(x):
    with tf.control_dependencies([tpu_ops.outfeed_enqueue_tuple([x * 2.0])]):
        return tf.identity(x)


outputs = tf.tpu.rewrite(computation, [tf.ones([2])])
(taken,) = tpu_ops.outfeed_dequeue_tuple([tf.float32], [[2]], device_ordinal=0)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    print(session.run(taken))
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
