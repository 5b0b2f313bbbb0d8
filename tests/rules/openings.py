"""The first and last lines that programs of several tests share."""

from __future__ import annotations

V1 = "import tensorflow.compat.v1 as tf\n\n\n"
# A computation of TensorFlow 1, of which `kept[0]` is an operation of the host.
KEPT = """    kept = []
    def computation(value):
        def on_host(tensor):
            kept.append(tf.math.log(tensor))
            return kept[0]
        return tf.tpu.outside_compilation(on_host, value)
"""
STRATEGY = """
import tensorflow as tf

tf.tpu.experimental.initialize_tpu_system()
strategy = tf.distribute.TPUStrategy()


"""
SYSTEM = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
# A TPU on another machine, for a program that has imported tf.
REMOTE = """
resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu="grpc://10.240.1.2:8470")
strategy = tf.distribute.TPUStrategy(resolver)
"""
# A model_fn of another module, and what trains by one.
NETWORK = "import tensorflow.compat.v1 as tf\n\nfrom network import model_fn\n\n\n"
ESTIMATOR = """

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
)
"""
HOST_CALL = (
    """
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))
"""
    + ESTIMATOR
)
INPUT_FN = (
    NETWORK
    + """
import library
import sys

more = len(sys.argv) > 1
"""
)
MODEL_FN = (
    V1
    + """
import library
import sys

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    rows = tf.reduce_mean(features, axis=-1)
"""
)
REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
REWRITTEN_PAIR = "\ntf.tpu.rewrite(computation, [tf.zeros([4]), tf.zeros([4])])\n"
RUN = """
tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
"""
STEP = """
import logging
import random
import sys
import time

import numpy as np
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))

"""
TRAINED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""
TRAINED_ESTIMATOR = """
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
"""
REPLICATED = "\ntf.tpu.replicate(computation, [[tf.zeros([4])], [tf.ones([4])]])\n"
# Callables with every kind of parameters, for calls of the replicate family.
CALLABLES = (
    V1
    + """
import functools
import sys

def two(a, b):
    return a

def many(a, b, *rest):
    return a

def some(a, b=1.0, c=2.0):
    return a

def named(a, *, b):
    return a

class Model:
    def step(self, a):
        return a

    def steps(self, *several):
        return several

x = tf.placeholder(tf.float32)
more = len(sys.argv) > 1
"""
)
# A model_fn whose last statements are to be put in place of `{body}`.
STEP_OF_MODEL_FN = (
    V1
    + """
def model_fn(features, labels, mode, params):
    rate = tf.train.cosine_decay(0.1, tf.train.get_global_step(), 100)
    loss, rows = tf.reduce_mean(features), tf.reduce_mean(features, axis=-1)
    def record(step):
        return tf.summary.scalar("rate", rate, step=step)
    spec = tf.estimator.tpu.TPUEstimatorSpec
    {body}
"""
    + ESTIMATOR
)
# A TPUEstimator whose configuration is to be put in place of `{}`.
CONFIGURED = """
import sys
import tensorflow.compat.v1 as tf
import library

tpu = tf.estimator.tpu
Input = tpu.InputPipelineConfig

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    update = tf.train.AdamOptimizer().minimize(loss)
    record = lambda value: tf.summary.scalar("loss", value[0])
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update, host_call=(record, [loss]))

estimator = tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=64, config={})
"""
