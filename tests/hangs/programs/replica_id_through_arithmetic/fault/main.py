import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


def step(x):
    context = tf.distribute.get_replica_context()
    even = tf.equal(tf.math.floormod(context.replica_id_in_sync_group, 2), 0)

    def pooled():
        return context.all_reduce("MEAN", x)

    return tf.cond(even, pooled, lambda: tf.reduce_mean(x))


@tf.function
def evaluate(x):
    return strategy.run(step, args=(x,))


print(evaluate(tf.constant(2.0)))
