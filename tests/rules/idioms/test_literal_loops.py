"""Loops over literals: each round is read, so that what the rounds make are different things.

A mark in a program is what its rule says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

METRICS = """
import tensorflow.compat.v1 as tf

class Metrics:
    def __init__(self):
        for name in ("loss", "accuracy"):
            setattr(self, name, tf.Variable(0.0))

def build(x):
    metrics = Metrics()
    def host(v):
        return {read}
    def computation(v):
        total = metrics.loss.assign_add(tf.reduce_sum(v))
        with tf.control_dependencies([total]):
            return total * tf.tpu.outside_compilation(host, v)
    return tf.tpu.rewrite(computation, [x])

build(tf.zeros([4]))
"""
STATE = """
import tensorflow.compat.v1 as tf

state = {made}

def computation(v):
    total = state[{key!r}].assign_add(tf.reduce_sum(v))
    def host(value):
        with tf.control_dependencies([value]):
            return value * state[{read!r}].read_value(){mark}
    with tf.control_dependencies([total]):
        return total * tf.tpu.outside_compilation(host, tf.reduce_max(v))

tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
BY_NAME = "{name: tf.Variable(0.0, name=name) for name in ('loss', 'accuracy')}"
BY_PREFIX = "{'my_' + name: tf.Variable(0.0) for name in ('loss', 'accuracy')}"
IN_A_LIST = "[tf.Variable(0.0, name=f'v{n}') for n in range(2)]"
ERROR = "  # error: TPU101"
PROGRAMS = {
    # A missed alarm: it was possible, as no attribute was known by its name.
    "variables that a loop makes": METRICS.format(
        read="v * metrics.loss.read_value()  # error: TPU101"
    ),
    "another variable of that loop": METRICS.format(read="v * metrics.accuracy.read_value()"),
    "a variable by a name that is known": METRICS.format(
        read='v * getattr(metrics, "loss").read_value()  # error: TPU101'
    ),
    # A false positive: each key might have been the other's.
    "another variable of a dict comprehension": STATE.format(
        made=BY_NAME, key="loss", read="accuracy", mark=""
    ),
    "a variable of a dict comprehension": STATE.format(
        made=BY_NAME, key="loss", read="loss", mark=ERROR
    ),
    "a key that is put together": STATE.format(
        made=BY_PREFIX, key="my_loss", read="my_loss", mark=ERROR
    ),
    # A false positive: all variables of a comprehension were one.
    "another variable of a list comprehension": STATE.format(
        made=IN_A_LIST, key=0, read=1, mark=""
    ),
    "a variable of a list comprehension": STATE.format(made=IN_A_LIST, key=0, read=0, mark=ERROR),
    # Possible before: the round might have been any of the functions.
    "functions of a list that has a name": """
import tensorflow.compat.v1 as tf

def double(x): return x * 2.0
def shown(x): return tf.py_func(abs, [x], tf.float32)  # error: TPU501
def halve(x): return x / 2.0

STEPS = [double, shown, halve]

def step(x):
    for function in STEPS:
        x = function(x)
    return x

y = tf.tpu.rewrite(step, [tf.zeros([4])])
""",
    "functions of a list, of which a flag chooses one": """
import sys
import tensorflow.compat.v1 as tf

def double(x): return x * 2.0
def shown(x): return tf.py_func(abs, [x], tf.float32)  # possible: TPU501

STEPS = [double, shown]

def step(x):
    return STEPS[len(sys.argv)](x)

y = tf.tpu.rewrite(step, [tf.zeros([4])])
""",
    "in a round that its item chooses": """
import tensorflow.compat.v1 as tf

def step(x):
    for name in ("plain", "shown"):
        if name == "shown":
            tf.py_func(print, [x], [])  # error: TPU501
        elif name == "never":
            tf.py_func(repr, [x], [])
    return x

y = tf.tpu.rewrite(step, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
