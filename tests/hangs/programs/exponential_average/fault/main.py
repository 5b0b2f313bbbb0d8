import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

loss_seen = tf.get_variable("loss", [], initializer=tf.zeros_initializer(), use_resource=True)
average = tf.train.ExponentialMovingAverage(0.9)


def against_average(loss):
    with tf.control_dependencies([loss]):
        return loss - average.average(loss_seen).read_value()


def computation(x):
    loss = tf.identity(loss_seen.assign(tf.reduce_sum(x)))
    with tf.control_dependencies([loss]):
        applied = average.apply([loss_seen])
    with tf.control_dependencies([applied]):
        better = tf.tpu.outside_compilation(against_average, tf.identity(loss))
    return better * loss


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
