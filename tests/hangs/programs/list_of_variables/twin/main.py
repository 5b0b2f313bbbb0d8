import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

weights = [
    tf.get_variable(f"weight_{i}", [2], initializer=tf.ones_initializer(), use_resource=True)
    for i in range(3)
]


def norm(loss):
    return tf.sqrt(loss)


def computation(x):
    loss = tf.add_n([tf.reduce_sum(weight * x) for weight in weights])
    penalty = tf.tpu.outside_compilation(norm, loss)
    return loss + 0.01 * penalty


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
