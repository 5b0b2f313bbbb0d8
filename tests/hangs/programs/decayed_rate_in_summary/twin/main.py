import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

rate = tf.get_variable("rate", [], initializer=tf.constant_initializer(0.1), use_resource=True)


def show(loss):
    text = tf.strings.format("loss {}", (loss,))
    with tf.control_dependencies([tf.print(text)]):
        return tf.identity(loss)


def computation(x):
    loss = tf.reduce_sum(x)
    decayed = rate.assign(rate.read_value() * 0.99)
    with tf.control_dependencies([decayed]):
        shown = tf.tpu.outside_compilation(show, tf.identity(loss))
    return shown * decayed


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
