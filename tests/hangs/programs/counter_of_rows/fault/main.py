import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

rows = tf.get_variable("rows", [], initializer=tf.ones_initializer(), use_resource=True)
seen = tf.get_variable("seen", [], initializer=tf.ones_initializer(), use_resource=True)


def count(values):
    rows.assign_add(tf.cast(tf.size(values), tf.float32))


def computation(x):
    scaled = x / rows.read_value()
    tf.tpu.outside_compilation(count, scaled)
    return tf.reduce_sum(scaled)


outputs = tf.tpu.replicate(computation, [[tf.ones([4])], [tf.ones([4])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
