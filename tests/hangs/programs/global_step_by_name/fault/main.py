import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from schedules import rate_for

tf.train.get_or_create_global_step()
weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)


def computation(x):
    loss = tf.reduce_mean(tf.square(x - weight))
    rate = tf.tpu.outside_compilation(rate_for, loss)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    with tf.control_dependencies([train]):
        return tf.identity(loss)


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])], [tf.constant([3.0, 4.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
