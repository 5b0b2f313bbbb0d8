"""TPU1xx: what decides that it is said, by which rule, and with what certainty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

TRAINED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""
REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"

PROGRAMS = {
    "of a TPU's scope, and nobody waits: it is told of the scope alone": STRATEGY
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

tpu = tf.distribute.TPUStrategy()
strategy = tf.distribute.get_strategy()

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
    "the step of an optimizer of the scope is told as a step": STRATEGY
    + """
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD(0.1)
    kernel = tf.Variable(1.0)

def show(value):
    tf.print(optimizer.iterations, value)  # possible: TPU105

def step(x):
    optimizer.apply_gradients([(x * kernel, kernel)])
    tf.compat.v1.tpu.outside_compilation(show, x * 2.0)
"""
    + TRAINED,
    "both sides only read, and nobody waits": V1
    + """
scale = tf.get_variable("scale", [], use_resource=True)

def show(value):
    tf.print(value * scale)

def computation(x):
    tf.tpu.outside_compilation(show, x * 2.0)
    return x * scale
"""
    + REWRITTEN,
    "its result is returned beside one of the device: it runs after the device program": V1
    + """
total = tf.get_variable("total", [], use_resource=True)

def scaled(value):
    with tf.control_dependencies([value]):
        return value * total

def computation(x):
    total.assign_add(1.0)
    return tf.tpu.outside_compilation(scaled, x * 2.0), x + 1.0
"""
    + REWRITTEN,
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
def test_it_is_said_as_surely_as_it_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
