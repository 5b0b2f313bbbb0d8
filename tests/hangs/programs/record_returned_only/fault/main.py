import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

count = tf.get_variable("count", [], initializer=tf.ones_initializer(), use_resource=True)


def record(level):
    return count.assign_add(level)


def computation(x):
    level = count.read_value() + tf.reduce_sum(x)
    return level, tf.tpu.outside_compilation(record, level)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
