import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu.ops import tpu_ops

REPLICAS = 2


def computation():
    (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
    return tf.reduce_sum(x)


outputs = tf.tpu.replicate(computation, [[] for _ in range(REPLICAS)])
feeds = [
    tpu_ops.infeed_enqueue_tuple([tf.ones([2])], [[2]], device_ordinal=core)
    for core in range(REPLICAS - 1)
]
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run([outputs, feeds]))
    session.run(tf.tpu.shutdown_system())
