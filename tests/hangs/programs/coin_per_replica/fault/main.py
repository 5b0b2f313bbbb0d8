import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


@tf.function
def train(x):
    def step(x):
        context = tf.distribute.get_replica_context()
        coin = tf.random.stateless_uniform([], [7, context.replica_id_in_sync_group])
        if coin < 0.6:
            x = context.all_reduce("SUM", x)
        return x

    return strategy.run(step, args=(x,))


print(train(tf.constant(1.0)))
