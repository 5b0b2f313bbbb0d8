import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])
index = tf.placeholder(tf.float32, [])


def exchange(value):
    with tf.control_dependencies([queue.enqueue(value)]):
        newest = queue.dequeue()
    return value + newest


def computation(x):
    return 2.0 * tf.tpu.outside_compilation(exchange, x * 3.0)


outputs = tf.tpu.rewrite(computation, [index])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    for step in range(3):
        print(session.run(outputs, {index: float(step)}))
    session.run(tf.tpu.shutdown_system())
