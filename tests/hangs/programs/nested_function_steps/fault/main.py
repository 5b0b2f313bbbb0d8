import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


@tf.function
def train(data):
    def step(rows):
        context = tf.distribute.get_replica_context()
        total = 0.0
        for i in tf.range(tf.reduce_sum(rows)):
            total += context.all_reduce("SUM", tf.cast(i, tf.float32))
        return total + tf.cast(tf.reduce_sum(rows), tf.float32)

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1, 1 + context.replica_id_in_sync_group])
)
print(train(values))
