"""Programs that are right, or not certainly wrong: what TPU2xx must not say of them.

A mark in a program is what is said, and how sure: these are programs on which the
analysis once said more than it knew, or might.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PROGRAMS = {
    "a computation with an empty list of replicas, which is never called": V1
    + """
def computation(x):
    return tf.tpu.outside_compilation(lambda v: tf.tpu.rewrite(tf.sin, [v]), x)

tf.tpu.replicate(computation, [])
""",
    "outside_compilation in a host_call, where no TPU context is left": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))

    def host_call_fn(loss):
        return tf.tpu.outside_compilation(tf.print, tf.tpu.rewrite(lambda v: v * 2.0, [loss]))

    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(host_call_fn, [loss]))

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "a guard that asks the open cluster": V1
    + """
def on_host(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    if getattr(context, "_outside_compilation_cluster", None) is not None:
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)

def outer(x):
    return on_host(tf.floor, x)

def computation(x):
    return on_host(outer, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a guard in a helper of its own": V1
    + """
def is_open():
    context = tf.get_default_graph()._get_control_flow_context()
    return context is not None and context._outside_compilation_cluster is not None

def on_host(function, *args):
    if is_open():
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.floor, v), x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a flag that is reset": V1
    + """
class Host:
    def __init__(self):
        self.open = False

    def call(self, function, *args):
        if self.open:
            return function(*args)
        self.open = True
        try:
            return tf.tpu.outside_compilation(function, *args)
        finally:
            self.open = False

host = Host()

def computation(x):
    y = host.call(lambda v: host.call(tf.floor, v), x * 2.0)
    return host.call(tf.floor, y * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a test that is not seen may be such a guard": V1
    + """
import helpers

def on_host(function, *args):
    if helpers.inside():
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.floor, v), x * 2.0)  # possible: TPU201

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a cluster in a function that a library hands to its callers": V1
    + """
def log(x):
    return tf.tpu.outside_compilation(tf.floor, x)

class Logger:
    def log(self, x):
        return tf.tpu.outside_compilation(tf.floor, x)
""",
    "a cluster that a strategy chosen by a flag brings in": """
import os

import tensorflow as tf

if os.environ.get("TPU"):
    strategy = tf.distribute.TPUStrategy()
else:
    strategy = tf.distribute.MirroredStrategy()

def step(x):
    return tf.compat.v1.tpu.outside_compilation(tf.floor, x * 2.0)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

train(tf.zeros([4]))
""",
    "a function of a library returns the host function": V1
    + """
import factory

def computation(x):
    return tf.tpu.outside_compilation(factory.make(x), x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method that is there to be overridden": V1
    + """
class Model:
    def make(self):
        pass

    def step(self, x):
        return tf.tpu.outside_compilation(self.make(), x * 2.0)  # possible: TPU205

    def build(self):
        return tf.tpu.rewrite(self.step, [tf.zeros([4])])
""",
    "a builder that may return None": V1
    + """
def make(flag):
    if flag:
        return tf.floor
    return None

def build(flag):
    host = make(flag)
    return tf.tpu.rewrite(lambda x: tf.tpu.outside_compilation(host, x * 2.0), [tf.zeros([4])])
""",
    "a decorator may change what the function takes": V1
    + """
import helpers

@helpers.with_context
def on_host(context, x):
    return x

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a gradient that no host function is on the way of": V1
    + """
def model_fn(features, labels, mode, params):
    weights = tf.tpu.outside_compilation(lambda: tf.ones([8]))
    loss = tf.reduce_mean(tf.layers.dense(features, 1) * weights)
    tf.tpu.outside_compilation(lambda v: tf.print(v), loss)
    train_op = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "numpy_function has no gradient to compile": V1
    + """
def computation(x):
    hidden = x * 2.0
    scale = tf.tpu.outside_compilation(
        lambda v: tf.numpy_function(lambda a: a, [v], tf.float32), hidden
    )
    return tf.gradients(tf.reduce_sum(scale * hidden), [hidden])[0]

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a gradient of the host, on the host": V1
    + """
def computation(x):
    def on_host(v):
        return tf.gradients(tf.reduce_sum(v * v), [v])[0]

    return tf.tpu.outside_compilation(on_host, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "an object that is returned takes its tensors along": V1
    + """
class Result:
    def __init__(self, low, high):
        self.low = low
        self.high = high

def split(values):
    return Result(tf.minimum(values, 0.0), tf.maximum(values, 0.0))

def computation(x):
    result = tf.tpu.outside_compilation(split, x * 2.0)
    return result.low + result.high

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the attribute is set anew on the device": V1
    + """
class Stats:
    def update(self, values):
        self.mean = tf.reduce_mean(values)
        return values - self.mean

stats = Stats()

def computation(x):
    y = tf.tpu.outside_compilation(stats.update, x * 2.0)
    stats.mean = tf.reduce_mean(y)
    return y / stats.mean

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the counter is read, and compared with what it was": V1
    + """
def opens_clusters(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    before = context._outside_compilation_counter
    function(*args)
    return context._outside_compilation_counter != before
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_no_more_is_said_than_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU1", "TPU2")) == expected(text, ("TPU1", "TPU2"))
