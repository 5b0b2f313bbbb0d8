"""The first and last lines that programs of several tests share."""

from __future__ import annotations

V1 = "import tensorflow.compat.v1 as tf\n\n\n"
STRATEGY = "import tensorflow as tf\n\nstrategy = tf.distribute.TPUStrategy()\n\n\n"
SYSTEM = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
# A TPU on another machine, for a program that has imported tf.
REMOTE = """
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="grpc://10.240.1.2:8470")
strategy = tf.distribute.TPUStrategy(resolver)
"""
# A model_fn of another module, and what trains by one.
NETWORK = "import tensorflow.compat.v1 as tf\n\nfrom network import model_fn\n\n\n"
ESTIMATOR = """

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
)
"""
