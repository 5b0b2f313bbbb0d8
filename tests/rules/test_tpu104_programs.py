"""Programs with TPU104, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STRATEGY, TRAINED

PROGRAMS = {
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
    "what a rewritten computation creates in a tf.function, rewrite's caller decides": STRATEGY
    + """
def computation(x):
    scale = tf.Variable(1.0)
    return x * scale

@tf.function
def train(x):
    return tf.compat.v1.tpu.rewrite(computation, [x])

train(tf.zeros([8]))
""",
    "created where a flag says so": STRATEGY
    + """
import sys

def step(x):
    if len(sys.argv) > 1:
        scale = tf.Variable(1.0)  # possible: TPU104
        x = x * scale
    return x
"""
    + TRAINED,
    "created where the flag says so under which the step is run": STRATEGY
    + """
def step(x, scales):
    if scales:
        scale = tf.Variable(1.0)  # error: TPU104
        x = x * scale
    return x

@tf.function
def train(x, scales):
    if scales:
        strategy.run(step, args=(x, scales))

def main(scales):
    train(tf.zeros([8]), scales)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
