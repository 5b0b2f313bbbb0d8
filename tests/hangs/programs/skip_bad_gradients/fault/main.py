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
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(weight - x))
        gradient = tape.gradient(loss, weight)
        if tf.reduce_max(x) < 10.0:
            optimizer.apply_gradients([(gradient, weight)])
        return loss

    return strategy.run(step, args=(data,))


values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1.0, 20.0 * context.replica_id_in_sync_group])
)
print(train(values))
