import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
STEPS = 6
rows = tf.data.Dataset.range(16).map(lambda x: tf.cast(x, tf.float32))
dataset = rows.repeat().batch(4, drop_remainder=True)
iterator = iter(strategy.experimental_distribute_dataset(dataset))


@tf.function
def train(iterator):
    for _ in tf.range(STEPS):
        strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))


train(iterator)
print("done")
