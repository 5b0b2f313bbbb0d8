import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

start = tf.get_variable("start", [], initializer=tf.zeros_initializer(), use_resource=True)


def prepare():
    return start.assign(3.0)


def computation(x):
    base = start.read_value() + tf.reduce_sum(x)
    return base, tf.tpu.outside_compilation(prepare)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
