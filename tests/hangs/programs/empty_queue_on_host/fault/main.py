import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])


def take(x):
    with tf.control_dependencies([x]):
        return x + queue.dequeue()


def computation(x):
    return 2.0 * tf.tpu.outside_compilation(take, tf.reduce_sum(x))


outputs = tf.tpu.rewrite(computation, [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
