"""Programs that are wrong in a way that is easily missed: what TPU1xx must say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

PROGRAMS = {
    "a variable that is the global step by its name: it was told as any variable's deadlock": V1
    + """
step = tf.Variable(0.0, name="global_step", use_resource=True)

def host(y):
    return y / step  # error: TPU105

def computation(x):
    step.assign_add(1.0)
    with tf.control_dependencies([x * 1]):
        return tf.tpu.outside_compilation(host, x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.ones([])])
""",
    "a table that both sides ask": V1
    + """
table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)

def computation(x, ids):
    rates = table.lookup(ids)
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(lambda v: v * table.lookup(ids), x * 2.0)  # error: TPU101
    return y * rates

tf.tpu.rewrite(computation, [tf.zeros([4]), tf.zeros([4], tf.int64)])
""",
    "an update in a helper of another module, under functools.partial": """
# file: project/state.py
import tensorflow.compat.v1 as tf

count = tf.get_variable("count", shape=[], use_resource=True)


def bump(by, x):
    with tf.control_dependencies([count.assign_add(by)]):  # error: TPU101
        return tf.identity(x)


# file: train.py
import functools

import tensorflow.compat.v1 as tf

from project import state


def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(functools.partial(state.bump, 2.0), x * 2.0)
    return y * state.count


tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "tf.compat.v1.assign": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def on_host(x):
    with tf.control_dependencies([tf.assign(count, x)]):  # error: TPU101
        return tf.identity(x)

def computation(x):
    y = tf.tpu.outside_compilation(on_host, tf.reduce_sum(x))
    return y * count

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "an attribute by getattr with a literal, and an alias": V1
    + """
class State:
    def __init__(self):
        self.total = tf.get_variable("total", shape=[], use_resource=True)

state = State()
alias = state.total

def on_host(x):
    return x / getattr(state, "total").read_value()  # error: TPU101

def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(on_host, tf.reduce_sum(x))
    return y + alias.assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a variable of a dict that a loop fills": V1
    + """
state = {}
for name in ("count", "limit"):
    state[name] = tf.get_variable(name, shape=[], use_resource=True)

def computation(x):
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(lambda v: v / state["count"], x * 2.0)  # possible: TPU101
    return y + state["count"].assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a layer with weights, on both sides": V1
    + """
dense = tf.keras.layers.Dense(4)

def computation(x):
    hidden = dense(x)
    with tf.control_dependencies([x * 1]):
        y = tf.tpu.outside_compilation(lambda v: dense(v), hidden)  # error: TPU101
    return y + hidden

tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "the first cluster's result goes into the second, for which the device waits": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def computation(x):
    with tf.control_dependencies([x * 1]):
        first = tf.tpu.outside_compilation(lambda v: v / count, x * 2.0)  # error: TPU101
    with tf.control_dependencies([x * 1]):
        second = tf.tpu.outside_compilation(lambda v: v * 2.0, first)
    return second + count.assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "both sides in one mode": V1
    + """
def model_fn(features, labels, mode, params):
    average = tf.get_variable("average", shape=[], use_resource=True)
    loss = tf.reduce_mean(features * 2.0)
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    if is_training:
        loss += average.assign(loss)
    if mode == tf.estimator.ModeKeys.TRAIN:
        loss += tf.tpu.outside_compilation(lambda v: v / average, loss)  # error: TPU101
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "in a device loop, through a conditional": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def on_host(v):
    return v / count.read_value()  # error: TPU101

def computation(x):
    def body(i, v):
        large = tf.reduce_sum(v) > 0.0
        v = tf.cond(large, lambda: tf.tpu.outside_compilation(on_host, v), lambda: v)
        return i + 1, v + count.assign_add(1.0)

    return tf.while_loop(lambda i, v: i < 3, body, [0, x])[1]

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the iterations of a Keras optimizer": V1
    + """
optimizer = tf.keras.optimizers.Adam(0.1)
weight = tf.get_variable("weight", shape=[], use_resource=True)

def anneal(loss):
    return loss / tf.cast(optimizer.iterations, tf.float32)  # error: TPU105

def computation(x):
    loss = tf.reduce_mean(x * weight)
    with tf.control_dependencies([x * 1]):
        rate = tf.tpu.outside_compilation(anneal, loss)
    optimizer.apply_gradients([(rate, weight)])
    return loss

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a model_fn of a class, its host_call a method": V1
    + """
class Model:
    def __init__(self, params):
        self.params = params

    def host_call_fn(self, loss):
        step = tf.train.get_or_create_global_step()
        tf.compat.v2.summary.scalar("loss", loss[0], step=step)  # possible: TPU105
        return tf.summary.all_v2_summary_ops()

    def model_fn(self, features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
        train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, host_call=(self.host_call_fn, [loss])
        )

model = Model({})
tf.estimator.tpu.TPUEstimator(model_fn=model.model_fn, use_tpu=True, config=None)
""",
    "a variable of the scope, in a cluster of a method of a method": STRATEGY
    + """
class Trainer:
    def __init__(self):
        with strategy.scope():
            self.best = tf.Variable(1.0)

    def gain(self, loss):
        return self.best - loss  # error: TPU102

    def step(self, x):
        return tf.compat.v1.tpu.outside_compilation(self.gain, x * 2.0) + 1.0

    @tf.function
    def train(self, x):
        return strategy.run(self.step, args=(x,))

trainer = Trainer()
trainer.train(tf.zeros([4]))
""",
    "a metric of the scope": STRATEGY
    + """
with strategy.scope():
    metric = tf.keras.metrics.Mean()

def on_host(x):
    metric.update_state(x)  # error: TPU102
    return x

@tf.function
def train(x):
    return strategy.run(
        lambda v: tf.compat.v1.tpu.outside_compilation(on_host, v * 2.0) + 1.0, args=(x,)
    )
""",
    "an optimizer and a metric of each step": STRATEGY
    + """
def step(x):
    optimizer = tf.keras.optimizers.Adam(0.1)  # error: TPU104
    metric = tf.keras.metrics.Mean()  # error: TPU104
    metric.update_state(x)
    return x

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a function that its caller makes a tf.function": STRATEGY
    + """
class Trainer:
    def step(self, x):
        return x * tf.Variable(1.0)  # possible: TPU104

    def train(self, x):
        return strategy.run(self.step, args=(x,))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_fault_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU1", "TPU2")) == expected(text, ("TPU1", "TPU2"))
