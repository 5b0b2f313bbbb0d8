import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])


def put(value):
    with tf.control_dependencies([queue.enqueue(value)]):
        return tf.identity(value)


def take(value):
    with tf.control_dependencies([value]):
        return value + queue.dequeue()


def first(x):
    return 2.0 * tf.tpu.outside_compilation(take, tf.reduce_sum(x))


def second(x):
    return 2.0 * tf.tpu.outside_compilation(put, tf.reduce_sum(x))


before = tf.tpu.rewrite(first, [tf.ones([2])])
with tf.control_dependencies(before):
    after = tf.tpu.rewrite(second, [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run([before, after]))
    session.run(tf.tpu.shutdown_system())
