import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

rate = tf.get_variable(
    "rate", [], initializer=tf.constant_initializer(0.1), trainable=False, use_resource=True
)
weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)


def lower(loss):
    return rate.assign(tf.where(loss > 1.0, 0.1, 0.01))


def computation(x):
    loss = tf.reduce_sum(tf.square(x - weight))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))
    train = optimizer.minimize(loss, var_list=[weight])
    lowered = tf.tpu.outside_compilation(lower, loss)
    with tf.control_dependencies([train]):
        return tf.identity(loss), lowered


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])], [tf.constant([3.0, 4.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
