import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def make_scaler(factor):
    def scale(value):
        with tf.control_dependencies([value]):
            return value * factor.read_value()

    return scale


factor = tf.get_variable("factor", [], initializer=tf.ones_initializer(), use_resource=True)


def computation(x):
    value = tf.reduce_sum(x * x)
    scaled = tf.tpu.outside_compilation(make_scaler(factor), value)
    return factor.assign(scaled)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
