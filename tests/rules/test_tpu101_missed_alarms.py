"""Programs with TPU101 in forms that are easy to miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "a table that both sides ask": V1
    + """
table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)

def computation(x, ids):
    rates = table.lookup(ids)  # error: TPU501
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
        y = tf.tpu.outside_compilation(lambda v: v / state["count"], x * 2.0)  # error: TPU101
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

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
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
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
