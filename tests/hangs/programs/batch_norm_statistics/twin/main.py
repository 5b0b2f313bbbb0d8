import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def moving_mean():
    (mean,) = [v for v in tf.global_variables() if v.op.name.endswith("moving_mean")]
    return mean


def watch(x):
    with tf.control_dependencies([x]):
        return x - tf.reduce_mean(x)


def computation(x):
    with tf.variable_scope("net", use_resource=True, reuse=tf.AUTO_REUSE):
        mean = tf.get_variable(
            "moving_mean", [2], initializer=tf.zeros_initializer(), trainable=False
        )
    y = x - mean
    update = mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(x, axis=0))
    with tf.control_dependencies([update]):
        watched = tf.tpu.outside_compilation(watch, tf.identity(y))
    return tf.reduce_sum(watched)


outputs = tf.tpu.rewrite(computation, [tf.ones([4, 2])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
