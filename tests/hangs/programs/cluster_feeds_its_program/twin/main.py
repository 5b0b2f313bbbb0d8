import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu.ops import tpu_ops


def feed(value):
    enqueue = tpu_ops.infeed_enqueue_tuple([value], [[2]], device_ordinal=0)
    with tf.control_dependencies([enqueue]):
        return tf.reduce_sum(value)


def computation(x):
    fed = tf.tpu.outside_compilation(feed, x * 2.0)
    with tf.control_dependencies([fed]):
        (batch,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
    return fed + tf.reduce_sum(batch)


outputs = tf.tpu.rewrite(computation, [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
