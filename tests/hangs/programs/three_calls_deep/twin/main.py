import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

import report
from state import counter


def computation(x):
    counted = counter.assign_add(tf.reduce_sum(x))
    with tf.control_dependencies([counted]):
        written = tf.tpu.outside_compilation(report.write, tf.identity(counted))
    return written * 2.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
