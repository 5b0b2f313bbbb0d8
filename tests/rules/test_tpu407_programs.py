"""Programs with TPU407, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM, V1

PROGRAMS = {
    "a missed alarm: operations that a function given to run returns": SYSTEM
    + """
def in_tuple(x):
    return tf.reduce_sum(x), tf.group(x * 2.0)  # error: TPU407

def in_dict(x):
    return {"loss": tf.reduce_sum(x), "done": tf.no_op()}  # error: TPU407

def first(x):
    return [tf.no_op(), x * 2.0]  # error: TPU407

def nested(x):
    return [x, [tf.debugging.assert_positive(x)]]  # error: TPU407

def last_of_list(x):
    return [x, tf.no_op()]

def alone(x):
    return tf.group(x)

def updated(x):
    return x, optimizer.apply_gradients([(x, weight)]), weight.assign(1.0), None

with strategy.scope():
    weight = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD()

@tf.function
def train(x):
    for function in (in_tuple, in_dict, first, nested, last_of_list, alone, updated):
        strategy.run(function, args=(x,))
    return in_tuple(x)
""",
    "outputs in an order that TensorFlow takes": V1
    + """
from elsewhere import make

def computation(x):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(x)
    return x * 2.0, train_op

def unseen(x):
    return tf.group(x), make(x)

def build(x):
    tf.tpu.rewrite(computation, [x])
    tf.tpu.rewrite(unseen, [x])
    tf.tpu.rewrite(lambda value: tf.group(value), [x])
    return tf.tpu.rewrite(lambda value: None, [x])
""",
    "operations in deep and in flat outputs": V1
    + """
def nested(x):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return x, (x, optimizer.minimize(x))  # error: TPU407

def named(x):
    outputs = [tf.debugging.assert_positive(x), x * 2.0]  # error: TPU407
    return outputs

def either(x, flag):
    if flag:
        return tf.group(x), x * 2.0  # possible: TPU407
    return x * 2.0, tf.group(x)

def build(x, flag):
    tf.tpu.rewrite(nested, [x])
    tf.tpu.rewrite(named, [x])
    return tf.tpu.rewrite(lambda value: either(value, flag), [x])
""",
    "outputs with operations in a tf.function": V1
    + """
def nested(x):
    return x, [tf.group(x)]

@tf.function
def step(x):
    return tf.tpu.rewrite(nested, [x])

step(tf.zeros([2]))
""",
    "operations in a dict, and in a list that is put together": V1
    + """
def named(x):
    return {"x": x, "done": tf.group(x)}  # error: TPU407

def joined(x):
    first = [tf.group(x)]
    return first + [x * 2.0]  # error: TPU407

def build(x):
    tf.tpu.rewrite(named, [x])
    return tf.tpu.rewrite(joined, [x])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
