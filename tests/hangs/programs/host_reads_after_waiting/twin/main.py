import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

table = tf.get_variable("table", [3], initializer=tf.ones_initializer(), use_resource=True)


def fetch(index):
    with tf.control_dependencies([index]):
        return tf.cast(index, tf.float32)


def log(value):
    with tf.control_dependencies([tf.print(value)]):
        return value * 2.0


def computation(x):
    row = tf.argmax(x, output_type=tf.int32)
    table_update = table.assign_add(x)
    with tf.control_dependencies([table_update]):
        fetched = tf.tpu.outside_compilation(fetch, tf.identity(row))
    logged = tf.tpu.outside_compilation(log, fetched)
    return logged + tf.cast(row, tf.float32)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0, 0.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
