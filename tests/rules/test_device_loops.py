"""Alarms and silence of TPU503, TPU505 and TPU506 in device code.

A mark in a program is what is said, and how sure. Names of programs tell what they stand for.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILIES = ["TPU503", "TPU505", "TPU506"]
TPU = """
import random
import time

import numpy as np
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))

"""
V1 = "import time\n\nimport numpy as np\nimport tensorflow.compat.v1 as tf\n\n"

SILENT = {
    "a constant that makes the graph of each model another one": V1
    + """
def inference(features):
    now = int(time.time())
    stamp = tf.constant(now, name="epoch_time_%d" % now)
    with tf.control_dependencies([stamp]):
        return tf.identity(features)

tf.tpu.rewrite(inference, [tf.zeros([4])])
""",
    "random weights of an initializer, and of a variable": V1
    + """
def computation(x):
    initializer = tf.constant_initializer(np.random.normal(size=[4, 4]))
    return tf.matmul(x, tf.get_variable("w", [4, 4], initializer=initializer))

tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "the tensors of a model_fn are shown while its graph is built": V1
    + """
def model_fn(features, labels, mode, params):
    for name in sorted(features):
        tf.logging.info("  name = %s, shape = %s", name, features[name].shape)
    loss = tf.reduce_mean(features["x"])
    print("loss", loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "lists that a graph of TensorFlow 1 fills while it is built": V1
    + """
captured = []

def computation(x):
    captured.append(tf.reduce_sum(x))
    return x

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a number from a helper that is not seen is shown": TPU
    + """
from library import get_shape_list

def replica_step(x):
    shape = get_shape_list(x)
    print("shape", shape)
    return x
""",
    "a list that belongs to the step": TPU
    + """
class Pyramid:
    def __call__(self, x):
        levels = []
        for scale in (1.0, 2.0, 4.0):
            levels.append(x * scale)
        return levels

def replica_step(x):
    return Pyramid()(x)
""",
    "prints in a loop over GPUs": """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

def replica_step(x):
    for gpu in tf.config.list_physical_devices("GPU"):
        print(gpu, x)
    return x

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    "the other branch of a TPU flag prints": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if not params["use_tpu"]:
        loss += time.time()
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "a number that is drawn on the host before": TPU
    + """
offset = random.random()

def replica_step(x):
    return x + offset
""",
    "a clock limits what is logged": TPU
    + """
last = 0.0

def replica_step(x):
    if time.time() - last > 60.0:
        print("still tracing")
    return x
""",
    "the host function of a host_call reads the clock": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)

    def host_call_fn(loss):
        return tf.add(loss, time.time())

    host_call = (host_call_fn, [tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "a host cluster in a branch, in no loop": TPU
    + """
def replica_step(x):
    if tf.reduce_sum(x) > 0.0:
        x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)
    return x
""",
    "a growing array of known first size": TPU
    + """
def replica_step(x):
    values = tf.TensorArray(tf.float32, size=4, dynamic_size=True)
    for index in tf.range(4):
        values = values.write(index, x)
    return values.stack()
""",
}

REPORTED = {
    "a host cluster in the loop of a loop": TPU
    + """
def replica_step(x):
    for _ in tf.range(4):
        for _ in tf.range(4):
            x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)  # error: TPU505
    return x
""",
    "a host cluster in a loop that only some steps run": TPU
    + """
def replica_step(x):
    if tf.reduce_sum(x) > 0.0:
        for _ in tf.range(4):
            x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)  # error: TPU505
    return x
""",
    "a random number is rounded, scaled, and then used": TPU
    + """
def replica_step(x):
    shift = int(10 * np.random.rand())  # error: TPU506
    return tf.roll(x, shift, 0)
""",
    "a random number decides in an expression": TPU
    + """
def replica_step(x):
    return tf.reverse(x, [0]) if random.random() < 0.5 else x  # error: TPU506
""",
    "a file is written in the step": TPU
    + """
def replica_step(x):
    with tf.io.gfile.GFile("gs://bucket/loss.txt", "w") as stream:  # error: TPU506
        stream.write("done")
    return x
""",
    "a growing array that is filled without a loop": TPU
    + """
def replica_step(x):
    values = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # error: TPU503
    values = values.write(0, x).write(1, x)
    return values.stack()
""",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == []


@pytest.mark.parametrize("text", REPORTED.values(), ids=REPORTED)
def test_what_is_marked_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
