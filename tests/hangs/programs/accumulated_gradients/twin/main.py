import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

weight = tf.get_variable("weight", [2], initializer=tf.ones_initializer(), use_resource=True)
total = tf.get_variable(
    "total", [2], initializer=tf.zeros_initializer(), trainable=False, use_resource=True
)


def reset(norm):
    return tf.maximum(norm, 1.0)


def computation(x):
    loss = tf.reduce_sum(tf.square(x - weight))
    (gradient,) = tf.gradients(loss, [weight])
    summed = tf.identity(total.assign_add(gradient))
    norm = tf.tpu.outside_compilation(reset, tf.norm(summed))
    return weight.assign_sub(summed / norm)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
