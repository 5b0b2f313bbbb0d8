import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])


def take(value):
    with tf.control_dependencies([value]):
        return value + queue.dequeue()


def put(value):
    with tf.control_dependencies([queue.enqueue(value)]):
        return tf.identity(value)


def computation(x):
    put_first = tf.tpu.outside_compilation(put, x * 2.0)
    total = tf.tpu.cross_replica_sum(put_first)
    return tf.tpu.outside_compilation(take, total) + 1.0


outputs = tf.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
