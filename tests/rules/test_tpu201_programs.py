"""Programs with TPU201, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "outside_compilation in a host_call, where no TPU context is left": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))

    def host_call_fn(loss):
        return tf.tpu.outside_compilation(tf.print, tf.tpu.rewrite(lambda v: v * 2.0, [loss]))

    host_call = (host_call_fn, [loss])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
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
    tf.tpu.experimental.initialize_tpu_system()
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
    "a list of replicas that is filled after it was made": V1
    + """
def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201

def computation(x):
    return tf.tpu.outside_compilation(inner, x)

inputs = []
for shard in range(8):
    inputs.append([tf.fill([4], float(shard))])
tf.tpu.replicate(computation, inputs)
""",
    "nested three deep, across a partial and a lambda": V1
    + """
import functools

def inner(scale, x):
    return tf.tpu.outside_compilation(tf.floor, x * scale)  # error: TPU201

def outer(x):
    return (lambda v: functools.partial(inner, 2.0)(v))(x)

def computation(x):
    return tf.tpu.outside_compilation(outer, x + 1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "nested, with one of two host functions": V1
    + """
import os

def plain(x):
    return tf.floor(x)

def nested(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # possible: TPU201

host = nested if os.environ.get("NESTED") else plain

def computation(x):
    return tf.tpu.outside_compilation(host, x + 1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "nested in a library that nothing here compiles": V1
    + """
def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # possible: TPU201

def outer(x):
    return tf.tpu.outside_compilation(inner, x)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
