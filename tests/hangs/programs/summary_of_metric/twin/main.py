import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

import metrics

errors = metrics.Sum("errors")


def computation(x):
    wrong = tf.reduce_sum(tf.cast(x > 2.0, tf.float32))
    tf.tpu.outside_compilation(errors.add, wrong)
    return wrong + 1.0


outputs = tf.tpu.replicate(computation, [[tf.constant([1.0, 3.0])]])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
