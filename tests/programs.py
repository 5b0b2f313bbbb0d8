"""Programs that several kinds of tests take."""

OPTIMIZER_OUTSIDE = """\
import tensorflow as tf

def train():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    strategy = tf.distribute.TPUStrategy(resolver)
    optimizer = tf.keras.optimizers.Adam(0.1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=optimizer, loss="mse")

"""  # TPU702 from Keras 3 on; sound before
