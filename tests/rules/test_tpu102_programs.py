"""Programs with TPU102, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STRATEGY, TRAINED, V1

PROGRAMS = {
    "a variable of another strategy is the host's": V1
    + """
mirrored = tf.distribute.MirroredStrategy()
with mirrored.scope():
    scale = tf.Variable(1.0, use_resource=True)

def computation(x):
    return tf.tpu.outside_compilation(lambda v: v / scale.read_value(), x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.zeros([4])])
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
    "of a TPU's scope, and nobody waits: it is reported for the scope alone": STRATEGY
    + """
with strategy.scope():
    counter = tf.Variable(0.0)

def record(value):
    counter.assign_add(value)  # error: TPU102

def step(x):
    counter.assign(0.0)
    tf.compat.v1.tpu.outside_compilation(record, x * 2.0)
"""
    + TRAINED,
    "of the scope of a strategy that may be a TPU's": """
import tensorflow as tf

tpu = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

def build(strategy):
    with strategy.scope():
        total = tf.Variable(0.0)

    def show(value):
        tf.print(value * total)  # possible: TPU102

    def step(x):
        tf.compat.v1.tpu.outside_compilation(show, x * 2.0)

    @tf.function
    def train(x):
        tpu.run(step, args=(x,))

    train(tf.zeros([8]))
""",
    "one of two variables of the scope": STRATEGY
    + """
import sys

with strategy.scope():
    total = tf.Variable(0.0)
    mean = tf.Variable(0.0)

chosen = {"total": total, "mean": mean}[sys.argv[1]]

def show(value):
    tf.print(value * chosen)  # possible: TPU102

def step(x):
    tf.compat.v1.tpu.outside_compilation(show, x * 2.0)
"""
    + TRAINED,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
