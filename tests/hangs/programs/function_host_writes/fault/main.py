import tensorflow as tf

tpu = tf.compat.v1.tpu
temperature = tf.Variable(1.0)
highest = tf.Variable(0.0)


def cool(loss):
    temperature.assign(0.9 * loss)
    return loss


def computation(x):
    loss = tf.reduce_sum(x) * temperature.read_value()
    cooled = tpu.outside_compilation(cool, loss)
    return cooled * temperature.read_value()


@tf.function
def train(x):
    return tpu.replicate(computation, [[x], [2.0 * x]])


tf.tpu.experimental.initialize_tpu_system()
print(train(tf.constant([1.0, 3.0])))
