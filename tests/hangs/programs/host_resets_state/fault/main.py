import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

state = tf.get_variable("state", [2], initializer=tf.zeros_initializer(), use_resource=True)
resets = tf.get_variable("resets", [], initializer=tf.zeros_initializer(), use_resource=True)


def reset(done):
    state.assign(tf.zeros([2]) * done)


def computation(x):
    moved = state.assign_add(x)
    done = tf.cast(tf.reduce_sum(x) > 2.0, tf.float32)
    tf.tpu.outside_compilation(reset, done)
    return tf.identity(moved)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 4.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
