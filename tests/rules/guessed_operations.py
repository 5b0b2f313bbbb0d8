"""Faults of TPU4xx to TPU8xx in a function that may be called."""

from __future__ import annotations

from tests.rules.openings import STRATEGY, SYSTEM, V1

SOUND = """
import sys

def sound(x, *args, **options):
    return x
"""
AT_THE_TOP = """
def two(*args):
    return args[0]

{called}(tf.zeros([8, 4]))
"""
IN_A_COMPUTATION = """
def computation(x):
    return {called}(x)

tf.tpu.rewrite(computation, [tf.zeros([8, 4])])
"""
IN_A_STEP = """
import random

def step(x):
    return {called}(x)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

train(tf.zeros([8, 4]))
"""
UNDER_A_SCOPE = """
with strategy.scope():
    {called}(resolver)
"""
TRAINED = (
    V1
    + """
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="grpc://10.240.1.2:8470")
config = tf.estimator.tpu.RunConfig(cluster=resolver)

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=config)

def read(py_func):
    return tf.data.Dataset.range(8).map(lambda x: py_func(abs, [x], tf.float32))
"""
)
# The rule, where the function that breaks it is called, and the function.
FAULTS = {
    "TPU401": (V1, AT_THE_TOP, "tf.tpu.replicate(two, (x,))"),
    "TPU402": (V1, AT_THE_TOP, "tf.tpu.replicate(two, [[x], [x, x]])"),
    "TPU403": (V1, AT_THE_TOP, "tf.tpu.rewrite(lambda: 1.0, [x])"),
    "TPU404": (
        V1,
        AT_THE_TOP,
        "tf.tpu.replicate(two, [[x]], maximum_shapes=[tf.TensorShape([8]), None])",
    ),
    "TPU405": (V1, AT_THE_TOP, 'tf.tpu.rewrite(two, [x], name="a")'),
    "TPU407": (V1, AT_THE_TOP, "tf.tpu.rewrite(lambda: (tf.no_op(), tf.add(x, 1.0)))"),
    "TPU408": (V1, AT_THE_TOP, "tf.tpu.shard(two, [x], num_shards=3)"),
    "TPU409": (V1, AT_THE_TOP, "tf.tpu.replicate(two, [[x]], padding_spec=1)"),
    "TPU502": (V1, IN_A_COMPUTATION, "tf.fill([tf.reduce_max(tf.cast(x, tf.int32))], 1.0)"),
    "TPU503": (
        STRATEGY,
        IN_A_STEP,
        "tf.TensorArray(tf.float32, 0, dynamic_size=True).write(0, x).stack()",
    ),
    "TPU504": (V1, IN_A_COMPUTATION, "tf.cast(x, tf.complex128)"),
    "TPU506": (STRATEGY, IN_A_STEP, "print(x)"),
    "TPU605": (TRAINED, AT_THE_TOP, "estimator.train(lambda: tf.data.Dataset.range(8).batch(3))"),
    "TPU606": (
        TRAINED,
        AT_THE_TOP,
        'tf.estimator.tpu.TPUEstimator(model_fn, None, config, {"batch_size": 8}, True)',
    ),
    "TPU607": (TRAINED, AT_THE_TOP, "estimator.train(lambda: read(tf.py_func))"),
    "TPU701": (SYSTEM, AT_THE_TOP, "strategy.run(two, args=(x,))"),
    "TPU703": (SYSTEM, IN_A_STEP, "strategy.scope().__enter__()"),
    "TPU704": (SYSTEM, UNDER_A_SCOPE, "tf.tpu.experimental.initialize_tpu_system(resolver)"),
    "TPU801": (V1, AT_THE_TOP, "tf.tpu.rewrite(two, [x], feed=None)"),
}
# The rule, and a program in which `{called}` is at fault where it is `faulty`.
PROGRAMS = {
    code: f"{opening}{SOUND}\ndef faulty(x):\n    return {fault}\n{where}"
    for code, (opening, where, fault) in FAULTS.items()
}
