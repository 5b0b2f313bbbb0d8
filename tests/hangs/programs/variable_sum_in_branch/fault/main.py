import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    hits = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)


@tf.function
def count(data):
    def step(x):
        if x > 0.5:
            hits.assign_add(x)
        return x

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant(float(context.replica_id_in_sync_group))
)
print(count(values))
