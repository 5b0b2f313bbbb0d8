import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

speed = tf.get_variable("speed", [], initializer=tf.ones_initializer(), use_resource=True)


def brake(position):
    with tf.control_dependencies([position]):
        return position - 0.1 * speed.read_value()


def computation(x):
    start = tf.reduce_sum(x) + tf.identity(speed.assign(2.0))

    def body(i, position):
        return i + 1, tf.tpu.outside_compilation(brake, position)

    _, end = tf.while_loop(lambda i, position: i < 3, body, [tf.constant(0), start])
    return end


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
