import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

state = {
    name: tf.get_variable(name, [], initializer=tf.ones_initializer(), use_resource=True)
    for name in ("scale", "limit")
}


def clip(value):
    with tf.control_dependencies([state["limit"].assign_add(value)]):
        return tf.minimum(value, 5.0)


def computation(x):
    total = tf.reduce_sum(x) * state["scale"].read_value()
    return tf.tpu.outside_compilation(clip, total) + 1.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
