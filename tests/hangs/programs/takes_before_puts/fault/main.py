import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])


def put(value):
    with tf.control_dependencies([queue.enqueue(value)]):
        return tf.identity(value)


def take(value):
    with tf.control_dependencies([value]):
        return value + queue.dequeue()


def computation(x):
    total = tf.reduce_sum(x)
    taken = tf.tpu.outside_compilation(take, total)
    done = tf.tpu.outside_compilation(put, taken * 2.0)
    return taken + done


outputs = tf.tpu.rewrite(computation, [tf.ones([2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
