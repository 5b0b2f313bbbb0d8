import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)
optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))


def computation(x):
    loss = tf.square(x - weight)
    ((gradient, _),) = optimizer.compute_gradients(loss, [weight])

    def apply():
        with tf.control_dependencies([optimizer.apply_gradients([(gradient, weight)])]):
            return tf.identity(loss)

    return apply()


outputs = tf.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(5.0)]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
