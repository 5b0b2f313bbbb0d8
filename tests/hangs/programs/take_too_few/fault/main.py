import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
STEPS = 4


def batches(count):
    rows = tf.data.Dataset.from_tensor_slices(tf.ones([64, 2]))
    return rows.repeat().batch(8, drop_remainder=True).take(count)


iterator = iter(strategy.experimental_distribute_dataset(batches(STEPS // 2)))


@tf.function
def train(iterator):
    total = 0.0
    for _ in tf.range(STEPS):
        per_replica = strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))
        total += strategy.reduce("SUM", per_replica, axis=None)
    return total


print(train(iterator))
