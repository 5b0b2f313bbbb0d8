"""Programs that are wrong in a way that is easily missed: what TPU2xx must say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PROGRAMS = {
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
    "the flag of a thread, read by getattr": V1
    + """
import threading

_state = threading.local()

def on_host(function, *args):
    if not getattr(_state, "on", False):
        _state.on = True  # error: TPU204
        result = tf.tpu.outside_compilation(function, *args)
        _state.on = False
        return result
    return function(*args)
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
    "the counter guards nothing": V1
    + """
def on_host(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    if context is not None and context._outside_compilation_counter > 0:  # error: TPU204
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)
""",
    "a computation in a graph of its own: TensorFlow counts those of the thread": V1
    + """
def scores():
    with tf.Graph().as_default():
        return tf.tpu.rewrite(lambda x: x * 2.0, [tf.zeros([4])])  # error: TPU202

def computation(x):
    scores()
    return x + 1.0

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "run inside a rewritten computation": """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy()

def computation(x):
    return strategy.run(lambda v: v * 2.0, args=(x,))  # error: TPU202

tf.compat.v1.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a main that absl calls": V1
    + """
from absl import app

def main(argv):
    tf.tpu.outside_compilation(tf.floor, tf.ones([4]))  # error: TPU203

if __name__ == "__main__":
    app.run(main)
""",
    "called, not passed, with keywords, in a lambda's body": V1
    + """
def halve(x, by=2.0):
    return x / by

def computation(x):
    return (lambda v: tf.tpu.outside_compilation(halve(v, by=4.0)))(x)  # error: TPU205

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method is given an argument too many, a class one too few": V1
    + """
class Meter:
    def update(self, loss):
        return loss

    def __call__(self, loss, step):
        return loss

meter = Meter()

def computation(x):
    a = tf.tpu.outside_compilation(meter.update, x * 2.0, x)  # error: TPU208
    b = tf.tpu.outside_compilation(meter, x * 2.0)  # error: TPU208
    return a + b

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "Keras' minimize, and the loss through a loss function": V1
    + """
def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    logits = tf.tpu.outside_compilation(lambda x: tf.nn.l2_normalize(x, 1), logits)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    grads = optimizer.compute_gradients(loss)  # possible: TPU206
    train_op = optimizer.apply_gradients(grads)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "an attribute of another object, filled by a closure": V1
    + """
class Box:
    pass

box = Box()

def computation(x):
    def on_host(values):
        box.mean = tf.reduce_mean(values)
        return values

    y = tf.tpu.outside_compilation(on_host, x * 2.0)
    return y / box.mean  # error: TPU207

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_fault_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU1", "TPU2")) == expected(text, ("TPU1", "TPU2"))
