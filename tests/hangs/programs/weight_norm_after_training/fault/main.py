import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

weight = tf.get_variable("weight", [2], initializer=tf.ones_initializer(), use_resource=True)
optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))


def norm_of(loss):
    with tf.control_dependencies([loss]):
        return tf.norm(weight.read_value())


def computation(x):
    loss = tf.reduce_sum(tf.square(x - weight))
    train = optimizer.minimize(loss, var_list=[weight])
    with tf.control_dependencies([train]):
        norm = tf.tpu.outside_compilation(norm_of, tf.identity(loss))
    return loss / norm


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])], [tf.constant([2.0, 3.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
