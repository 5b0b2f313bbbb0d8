"""Clusters in clusters that a test may keep apart, and clusters that no computation is around.

A mark in a program is what is said, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import V1

RUN = """
tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
NESTED = {
    "a test around both tells nothing": V1
    + """
from library import state

def computation(x):
    if state.is_fast():
        twice = lambda v: tf.tpu.outside_compilation(tf.sin, v)  # error: TPU201
        return tf.tpu.outside_compilation(twice, x)
    return x
"""
    + RUN,
    "a test between the two": V1
    + """
from library import state

def host(v):
    if state.is_open():
        return v
    return tf.tpu.outside_compilation(tf.sin, v)  # possible: TPU201

def computation(x):
    return tf.tpu.outside_compilation(host, x)
"""
    + RUN,
    "the test of one wrapper, asked twice": V1
    + """
from library import state

def on_host(function, *args):
    if state.is_open():
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.sin, v), x)  # possible: TPU201
"""
    + RUN,
    "one wrapper without a test": V1
    + """
def on_host(function, *args):
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.sin, v), x)  # error: TPU201
"""
    + RUN,
}
# Where a cluster does nothing, and how that is said.
ALONE = {
    "at module level": V1
    + """
tf.tpu.outside_compilation(tf.sin, tf.zeros([4]))  # error: TPU203
""",
    "here": V1
    + """
def show(x):
    tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203

show(tf.zeros([4]))
""",
    "in a function of an input pipeline": V1
    + """
def read():
    decode = lambda x: tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203
    return tf.data.Dataset.range(4).map(decode)
""",
    "in a step of a strategy that is no TPU's": V1
    + """
strategy = tf.distribute.MirroredStrategy()

def step(x):
    tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203

def train(x):
    with tf.device("/cpu:0"):
        strategy.run(step, args=(x,))
""",
}
SILENT = {
    "in a function that nothing calls": V1
    + """
def show(x):
    with tf.device("/cpu:0"):
        tf.tpu.outside_compilation(tf.sin, x)
""",
    "in the function of another that does nothing": V1
    + """
def inner(x):
    return tf.tpu.outside_compilation(tf.sin, x)

tf.tpu.outside_compilation(inner, tf.zeros([4]))  # error: TPU203
""",
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_a_test_may_keep_them_apart(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU201"]) == expected(text, ["TPU201"])


@pytest.mark.parametrize("place", ALONE)
def test_it_is_said_where_a_cluster_does_nothing(place: str, tmp_path: Path) -> None:
    assert reported(ALONE[place], tmp_path, ["TPU203"]) == expected(ALONE[place], ["TPU203"])
    (found,) = findings(program(ALONE[place]), tmp_path)
    assert f"has no effect {place}:" in found.message


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_another_cluster_is_not_said_to_do_nothing(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU203"]) == expected(text, ["TPU203"])
