import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def call_on_host(function, *arguments, **options):
    return tf.tpu.outside_compilation(function, *arguments, **options)


def smooth(value, previous):
    with tf.control_dependencies([value]):
        return 0.5 * value + 0.5 * tf.identity(previous)


history = tf.get_variable("history", [], initializer=tf.zeros_initializer(), use_resource=True)


def computation(x):
    value = tf.reduce_mean(x)
    stored = tf.identity(history.assign_add(value))
    smoothed = call_on_host(smooth, stored, previous=history)
    return smoothed - stored


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
