import tensorflow as tf

tpu = tf.compat.v1.tpu
seen = tf.Variable(0.0)


def record(value):
    seen.assign_add(value)


def computation(x):
    value = tf.reduce_sum(x) + 1.0
    tpu.outside_compilation(record, value)
    return value


@tf.function
def train(x):
    return tpu.rewrite(computation, [x])


tf.tpu.experimental.initialize_tpu_system()
print(train(tf.constant([1.0, 3.0])))
