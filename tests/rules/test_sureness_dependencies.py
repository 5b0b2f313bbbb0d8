"""TPU304: whether something was asked to run first, and whether that is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
BUILT = """
def build(x, given):
    return tf.tpu.rewrite(lambda value: computation(value, given), [x])
"""

PROGRAMS = {
    "nothing is asked for": V1
    + """
def computation(x):
    with tf.control_dependencies([]):
        y = x
    return y
"""
    + REWRITTEN,
    "a tf.function orders by itself": V1
    + """
counter = tf.get_variable("counter", [], use_resource=True)

@tf.function
def counted(x):
    with tf.control_dependencies([counter.assign_add(1.0)]):
        y = x
    return y

def computation(x):
    return counted(x * 2.0)
"""
    + REWRITTEN,
    "so does a step, whose caller may be one": STRATEGY
    + """
with strategy.scope():
    counter = tf.Variable(0.0)

def step(x):
    with tf.control_dependencies([counter.assign_add(1.0)]):
        y = x
    return y

def train(x):
    return strategy.run(step, args=(x,))
""",
    "a list that is filled for each name of an unseen list": V1
    + """
def computation(x, given):
    checks = []
    for bound in given:
        checks.append(tf.Assert(tf.reduce_all(x > bound), [x]))
    with tf.control_dependencies(checks):  # possible: TPU304
        y = x
    return y
"""
    + BUILT,
    "the updates of a collection, of which there may be none": V1
    + """
def computation(x):
    updates = [each for each in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    with tf.control_dependencies(updates):  # possible: TPU304
        y = x
    return y
"""
    + REWRITTEN,
    "the rest of an unseen list": V1
    + """
def computation(x, given):
    first, *checks = given
    with tf.control_dependencies(checks):  # possible: TPU304
        y = x
    return y
"""
    + BUILT,
    "an update of each variable of a tuple": V1
    + """
def computation(x):
    counters = (tf.get_variable("counter", [], use_resource=True),)
    updates = [each.assign_add(1.0) for each in counters]
    with tf.control_dependencies(updates):  # error: TPU304
        y = x
    return y
"""
    + REWRITTEN,
    "one of two callers asks for nothing": V1
    + """
def after(checks, x):
    with tf.control_dependencies(checks):  # error: TPU304
        return x

def computation(x):
    y = after([], x)
    return after([tf.Assert(tf.reduce_all(x > 0.0), [x])], y)
"""
    + REWRITTEN,
    "one of two callers gives what is not seen": V1
    + """
def after(checks, x):
    with tf.control_dependencies(checks):  # possible: TPU304
        return x

def computation(x, given):
    y = after(given, x)
    return after([tf.Assert(tf.reduce_all(x > 0.0), [x])], y)
"""
    + BUILT,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_said_as_surely_as_it_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
