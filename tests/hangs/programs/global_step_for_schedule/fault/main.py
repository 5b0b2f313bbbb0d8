import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

step = tf.train.get_or_create_global_step()


def anneal(loss):
    with tf.control_dependencies([loss]):
        return loss / tf.cast(step.read_value() + 1, tf.float32)


def computation(x):
    loss = tf.reduce_sum(x * x)
    counted = step.assign_add(1)
    with tf.control_dependencies([counted]):
        annealed = tf.tpu.outside_compilation(anneal, tf.identity(loss))
    return annealed * 2.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
