"""Programs that are right, or not certainly wrong: what TPU1xx must not say of them.

A mark in a program is what is said, and how sure: these are programs on which the
analysis once said more than it knew, or might.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

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
    "variables of one comprehension are not one variable": V1
    + """
counts = [tf.get_variable(f"v{n}", shape=[], use_resource=True) for n in range(2)]

def on_host(x):
    return x / counts[0].read_value()  # possible: TPU101

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

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "what the host function only hands back was never sent": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def on_host(v):
    return {"scaled": v / count, "value": v}  # error: TPU103

def computation(x):
    with tf.control_dependencies([x * 1]):
        both = tf.tpu.outside_compilation(on_host, x * 2.0)
    return both["value"] + count.assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a control dependency does not hold the device up": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def computation(x):
    loss = tf.reduce_sum(x * 2.0)
    seen = tf.tpu.outside_compilation(lambda v: count.assign(v), loss)  # error: TPU103
    with tf.control_dependencies([tf.group(seen)]):
        return loss + count.read_value()

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "two that only read disagree on nothing": V1
    + """
rate = tf.get_variable("rate", shape=[], use_resource=True)

def computation(x):
    return x * rate, tf.tpu.outside_compilation(lambda v: v + rate, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the initial value of a variable is no touch": V1
    + """
def computation(x):
    count = tf.get_variable("count", shape=[], use_resource=True)
    return tf.tpu.outside_compilation(lambda v: v / count.read_value(), x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the step is given by position": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())

    def host_call_fn(step, loss):
        from tensorflow.contrib import summary
        with summary.record_summaries_every_n_global_steps(100, step[0]):
            summary.scalar("loss", loss[0], None, step[0])
            return summary.all_summary_ops()

    step = tf.reshape(tf.train.get_global_step(), [1])
    host_call = (host_call_fn, [step, tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=host_call
    )

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "the step itself goes through the outfeed": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    step = tf.train.get_global_step()
    train_op = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss, step)

    def host_call_fn(step, loss):
        tf.compat.v2.summary.scalar("loss", loss[0], step=step)
        return tf.summary.all_v2_summary_ops()

    host_call = (host_call_fn, [step, tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=host_call
    )

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "a step that nothing counts": V1
    + """
step = tf.train.get_or_create_global_step()

def computation(x):
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9)
    return rate * tf.tpu.outside_compilation(lambda v: v / tf.cast(step, tf.float32), x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a step that only a flag has counted": V1
    + """
import os

step = tf.train.get_or_create_global_step()

def computation(x):
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9)
    if os.environ.get("COUNT"):
        step.assign_add(1)
    return rate * tf.tpu.outside_compilation(
        lambda v: v / tf.cast(step, tf.float32), x * 2.0  # possible: TPU105
    )

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a variable of another strategy is the host's": V1
    + """
mirrored = tf.distribute.MirroredStrategy()
with mirrored.scope():
    scale = tf.Variable(1.0, use_resource=True)

def computation(x):
    return tf.tpu.outside_compilation(lambda v: v / scale.read_value(), x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "created once, under an early return": STRATEGY
    + """
class Model:
    def __init__(self):
        self.scale = None

    def get(self):
        if self.scale is not None:
            return self.scale
        self.scale = tf.Variable(1.0)
        return self.scale

model = Model()

@tf.function
def train(x):
    return strategy.run(lambda v: v * model.get(), args=(x,))
""",
    "created in init_scope, and in a layer's build": STRATEGY
    + """
class Layer(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=shape)

    def call(self, x):
        return x * self.w

layer = Layer()

def step(x):
    with tf.init_scope():
        count = tf.Variable(1.0)
    return layer(x) * count

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "layers without variables may be made anywhere": STRATEGY
    + """
def step(x):
    return tf.keras.layers.Flatten()(tf.keras.layers.ReLU()(x))

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a layer that is only asked for a state": STRATEGY
    + """
def step(x):
    cell = tf.keras.layers.LSTMCell(4)
    return x, cell.get_initial_state(batch_size=2, dtype=tf.float32)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a graph of one's own is traced once": """
import tensorflow.compat.v1 as tf

strategy = tf.distribute.experimental.TPUStrategy()

def step(x):
    return tf.layers.dense(x, 4) * tf.get_variable("scale", shape=[])

with tf.Graph().as_default():
    strategy.experimental_run_v2(step, args=(tf.zeros([4, 4]),))
""",
    "literal use_tpu=False is no TPU code": V1
    + """
def model_fn(features, labels, mode, params):
    step = tf.train.get_global_step()
    loss = tf.reduce_mean(features * 2.0)
    rate = tf.tpu.outside_compilation(lambda v: v / tf.cast(step, tf.float32), loss)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=False, config=None)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_no_more_is_said_than_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU1", "TPU2")) == expected(text, ("TPU1", "TPU2"))
