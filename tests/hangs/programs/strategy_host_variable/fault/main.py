import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
best = tf.Variable(1.0)


def gain(loss):
    with tf.control_dependencies([loss]):
        return best.read_value() - loss


def replica_fn(x):
    loss = tf.reduce_mean(x * x)
    best.assign(tf.maximum(best, loss))
    return loss + tf.compat.v1.tpu.outside_compilation(gain, loss)


@tf.function
def step(x):
    return strategy.run(replica_fn, args=(x,))


print(step(tf.constant([1.0, 2.0])))
