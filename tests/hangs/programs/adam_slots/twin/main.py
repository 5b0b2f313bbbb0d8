import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

weight = tf.get_variable("weight", [2], initializer=tf.ones_initializer(), use_resource=True)
moment = tf.get_variable(
    "moment", [2], initializer=tf.zeros_initializer(), trainable=False, use_resource=True
)


def norm_of_moment(loss):
    with tf.control_dependencies([loss]):
        return tf.sqrt(loss)


def computation(x):
    loss = tf.reduce_sum(tf.square(x - weight))
    (gradient,) = tf.gradients(loss, [weight])
    new_moment = tf.identity(moment.assign(0.9 * moment + 0.1 * gradient))
    step = weight.assign_sub(0.1 * new_moment)
    with tf.control_dependencies([step]):
        norm = tf.tpu.outside_compilation(norm_of_moment, tf.identity(loss))
    return loss / (1.0 + norm)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
