import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


def merged(value):
    return tf.distribute.get_replica_context().all_reduce("SUM", value)


@tf.function
def evaluate(data):
    def step(x):
        full = tf.reduce_all(x > 0.0)
        total = merged(tf.reduce_sum(x))
        return tf.cond(full, lambda: total, lambda: tf.constant(0.0))

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1.0, float(context.replica_id_in_sync_group)])
)
print(evaluate(values))
