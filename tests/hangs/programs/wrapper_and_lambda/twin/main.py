import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

peak = tf.get_variable("peak", [], initializer=tf.zeros_initializer(), use_resource=True)


def on_host(function, *arguments):
    return tf.tpu.outside_compilation(function, *arguments)


def computation(x):
    largest = tf.maximum(peak.read_value(), tf.reduce_max(x))
    return peak.assign(largest), on_host(lambda value: value + 1.0, largest)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 4.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
