import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
STEPS = 4
EPOCHS = 2
rows = tf.data.Dataset.range(16).map(lambda x: tf.cast(x, tf.float32))
dataset = strategy.experimental_distribute_dataset(rows.batch(4, drop_remainder=True))


@tf.function
def train(iterator):
    for _ in tf.range(STEPS):
        strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))


for _ in range(EPOCHS):
    iterator = iter(dataset)
    train(iterator)
print("done")
