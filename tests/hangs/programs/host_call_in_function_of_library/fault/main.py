import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from hostlib import monitored

weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)
limit = tf.get_variable("limit", [], initializer=tf.ones_initializer(), use_resource=True)


def computation(x):
    loss = tf.square(tf.reduce_sum(x) - weight)
    return monitored(loss, weight) * weight.assign_sub(0.1)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
