import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

floor = tf.get_variable("floor", [], initializer=tf.zeros_initializer(), use_resource=True)
roof = tf.get_variable("roof", [], initializer=tf.ones_initializer(), use_resource=True)


def lift(value, variable=roof):
    with tf.control_dependencies([value]):
        return value + variable.read_value()


def computation(x):
    lowered = tf.identity(floor.assign_sub(tf.reduce_max(x)))
    return lowered * tf.tpu.outside_compilation(lift, lowered)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
