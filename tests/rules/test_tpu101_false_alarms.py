"""Programs on which TPU101 was once a false alarm, or might be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "an input of replicate: TensorFlow makes a tensor of it before the computation": """
import tensorflow.compat.v1 as tf

total = tf.Variable(0.0)

def host(y):
    total.assign_add(y)
    return y

def computation(x, start):
    return tf.tpu.outside_compilation(host, x * start) + 1.0

tf.tpu.replicate(computation, [[tf.ones([]), total]])
""",
    "read by a cluster whose result is only returned: it runs after the device program": """
import tensorflow.compat.v1 as tf

total = tf.Variable(0.0)

def host(y):
    with tf.control_dependencies([y]):
        return y + total

def computation(x):
    total.assign_add(x)
    return tf.tpu.outside_compilation(host, x * 2.0)

tf.tpu.rewrite(computation, [tf.ones([])])
""",
    "what a host cluster's write gives is only read in the cluster: no tensor crosses": """
import tensorflow as tf

tf.tpu.experimental.initialize_tpu_system()
total = tf.Variable(0.0)

def host(y):
    left = total.assign_sub(2.0)  # error: TPU103
    tf.print(left)
    return y + 1.0

def computation(x):
    total.assign_add(x)
    y = tf.compat.v1.tpu.outside_compilation(host, x * 2.0)
    tf.identity(total)
    return y

@tf.function
def step(x):
    return tf.compat.v1.tpu.replicate(computation, [[x]])

step(tf.ones([]))
""",
    "variables of one comprehension are not one variable": V1
    + """
counts = [tf.get_variable(f"v{n}", shape=[], use_resource=True) for n in range(2)]

def on_host(x):
    return x / counts[0].read_value()

def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(on_host, x * 2.0)
    return y + counts[1].assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "an alias that is one of two variables": V1
    + """
import os

a = tf.get_variable("a", shape=[], use_resource=True)
b = tf.get_variable("b", shape=[], use_resource=True)
chosen = a if os.environ.get("A") else b

def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(lambda v: v / chosen, x * 2.0)  # possible: TPU101
    return y + a.assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the device touches it only where a flag says so": V1
    + """
import os

count = tf.get_variable("count", shape=[], use_resource=True)

def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(lambda v: v / count, x * 2.0)  # possible: TPU101
    if os.environ.get("COUNT"):
        y += count.assign_add(1.0)
    return y

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "both sides under one flag": V1
    + """
def build(use_count):
    count = tf.get_variable("count", shape=[], use_resource=True)

    def computation(x):
        if use_count:
            with tf.control_dependencies([x * 1]):
                x = tf.tpu.outside_compilation(lambda v: v / count, x * 2.0)  # error: TPU101
        if use_count:
            x += count.assign_add(1.0)
        return x

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the two sides under opposite flags": V1
    + """
def build(use_count):
    count = tf.get_variable("count", shape=[], use_resource=True)

    def computation(x):
        if use_count:
            x = tf.tpu.outside_compilation(lambda v: v / count.read_value(), x * 2.0)
        else:
            x += count.assign_add(1.0)
        return x

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the two sides under a flag and its opposite": V1
    + """
def build(on_host):
    count = tf.get_variable("count", shape=[], use_resource=True)

    def computation(x):
        if not on_host:
            return x + count.assign_add(1.0)
        return tf.tpu.outside_compilation(lambda v: v / count, x * 2.0) + 1.0

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the two sides in two modes": V1
    + """
def model_fn(features, labels, mode, params):
    average = tf.get_variable("average", shape=[], use_resource=True)
    loss = tf.reduce_mean(features * 2.0)
    if mode == tf.estimator.ModeKeys.TRAIN:
        loss += average.assign(loss)
    if mode == tf.estimator.ModeKeys.EVAL:
        loss += tf.tpu.outside_compilation(lambda v: v / average.read_value(), loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "the initial value of a variable is no touch": V1
    + """
def computation(x):
    count = tf.get_variable("count", shape=[], use_resource=True)
    return tf.tpu.outside_compilation(lambda v: v / count.read_value(), x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
