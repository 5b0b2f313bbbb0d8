import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

steps = tf.get_variable("steps", [], initializer=tf.zeros_initializer(), use_resource=True)
host_steps = tf.get_variable(
    "host_steps", [], initializer=tf.zeros_initializer(), use_resource=True
)


def tick(value):
    return tf.identity(steps.assign_add(0.0 * value + 1.0))


def computation(x):
    value = tf.reduce_sum(x)
    counted = steps.assign_add(1.0)
    return tf.identity(counted), value, tf.tpu.outside_compilation(tick, value)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
