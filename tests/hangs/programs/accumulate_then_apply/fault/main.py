import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    weight = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train(data):
    def step(x):
        rows = tf.reduce_sum(tf.cast(x > 0.0, tf.int32))
        if rows > 1:
            optimizer.apply_gradients([(tf.reduce_mean(x), weight)])
        return rows

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1.0, float(context.replica_id_in_sync_group)])
)
print(train(values))
