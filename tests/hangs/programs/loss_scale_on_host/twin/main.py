import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

scale = tf.get_variable("scale", [], initializer=tf.constant_initializer(8.0), use_resource=True)


def adapt(norm):
    return tf.where(tf.math.is_finite(norm), norm, tf.zeros_like(norm))


def computation(x):
    scaled = tf.reduce_sum(x) * scale.read_value()
    checked = tf.tpu.outside_compilation(adapt, scaled)
    return checked / 2.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
