import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu.ops import tpu_ops


def computation():
    (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
    return tf.reduce_sum(x)


outputs = tf.tpu.rewrite(computation)
with tf.control_dependencies(outputs):
    feed = tpu_ops.infeed_enqueue_tuple([tf.ones([2])], [[2]], device_ordinal=0)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run([outputs, feed]))
    session.run(tf.tpu.shutdown_system())
