import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu import training_loop

peak = tf.get_variable("peak", [], initializer=tf.zeros_initializer(), use_resource=True)


def relative(value):
    with tf.control_dependencies([value]):
        return value / (1.0 + peak.read_value())


def computation(x):
    def body(total):
        value = tf.reduce_sum(x) + total
        raised = peak.assign(tf.maximum(peak, value))
        with tf.control_dependencies([raised]):
            return tf.tpu.outside_compilation(relative, tf.identity(value))

    return training_loop.repeat(3, body, [tf.constant(0.0)])


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
