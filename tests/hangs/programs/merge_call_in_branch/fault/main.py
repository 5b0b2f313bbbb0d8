import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)


def add(strategy, value):
    total.assign_add(strategy.reduce("SUM", value, axis=None))


@tf.function
def train(data):
    def step(x):
        context = tf.distribute.get_replica_context()
        if x > 1.0:
            context.merge_call(add, args=(x,))
        return x

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant(2.0 * context.replica_id_in_sync_group)
)
print(train(values))
