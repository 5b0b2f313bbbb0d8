import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(1, [tf.float32], [[]])


def put_two(value):
    with tf.control_dependencies([queue.enqueue(value)]):
        with tf.control_dependencies([queue.enqueue(value + 1.0)]):
            return tf.identity(value)


def take(value):
    with tf.control_dependencies([value]):
        return value + queue.dequeue()


def computation(x):
    put = tf.tpu.outside_compilation(put_two, tf.reduce_sum(x))
    return 2.0 * tf.tpu.outside_compilation(take, put * 2.0)


outputs = tf.tpu.rewrite(computation, [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
