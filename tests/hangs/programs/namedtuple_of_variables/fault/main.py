import collections

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

State = collections.namedtuple("State", ["loss", "limit"])
state = State(
    loss=tf.get_variable("loss", [], initializer=tf.zeros_initializer(), use_resource=True),
    limit=tf.get_variable("limit", [], initializer=tf.ones_initializer(), use_resource=True),
)


def keep(value):
    kept = state.limit.assign(value)
    with tf.control_dependencies([kept]):
        return value + 1.0


def computation(x):
    value = tf.minimum(tf.reduce_sum(x), state.limit.read_value())
    return 2.0 * tf.tpu.outside_compilation(keep, value)


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 2.0])], [tf.constant([5.0, 2.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
