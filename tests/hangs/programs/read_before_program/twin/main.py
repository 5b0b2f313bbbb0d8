import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

rate = tf.get_variable("rate", [], initializer=tf.ones_initializer(), use_resource=True)


def current_rate():
    return tf.constant(0.1)


def computation(x):
    decayed = rate.assign(rate.read_value() * 0.99)
    start = tf.tpu.outside_compilation(current_rate)
    return tf.reduce_mean(x) * start + decayed


outputs = tf.tpu.replicate(computation, [[tf.zeros([4])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
