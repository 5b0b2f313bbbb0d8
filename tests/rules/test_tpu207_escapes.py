"""Tensors of a host cluster that the device takes: how sure that is, and which go along.

A mark in a program is what TPU207 says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

RUN = """
tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
"""
KEPT = (
    V1
    + """
import sys
import library

def computation(x):
    kept = []
    tf.tpu.outside_compilation(lambda v: kept.append(tf.sin(v)), x)
"""
)
STATE = (
    V1
    + """
class State:
    def __init__(self, value):
        self.value = value
"""
)

KEPT_ASIDE = {
    "an operation takes it": KEPT
    + """
    return kept[0] + 1.0  # error: TPU207
"""
    + RUN,
    "a function of a library takes it": KEPT
    + """
    return library.show(kept[0])  # possible: TPU207
"""
    + RUN,
    "the most certain use is the one that is reported": KEPT
    + """
    library.show(kept[0])
    y = kept[0] + 1.0  # error: TPU207
    return y * kept[0]
"""
    + RUN,
    "an operation takes it or the device's": KEPT
    + """
    y = kept[0] if len(sys.argv) > 1 else x
    return y + 1.0  # possible: TPU207
"""
    + RUN,
    "a flag says whether it was kept": V1
    + """
import sys

class Net:
    def host(self, v):
        if len(sys.argv) > 1:
            self.sine = tf.sin(v)

    def computation(self, x):
        tf.tpu.outside_compilation(self.host, x)
        return self.sine + 1.0  # possible: TPU207

tf.tpu.rewrite(Net().computation, [tf.zeros([4, 4])])
""",
    "another host cluster takes it": KEPT
    + """
    return x + tf.tpu.outside_compilation(lambda v: v + kept[0], x)
"""
    + RUN,
    "another computation takes it": V1
    + """
kept = []

def first(x):
    tf.tpu.outside_compilation(lambda v: kept.append(tf.sin(v)), x)
    return x

def second(x):
    return x + kept[0]

tf.tpu.rewrite(first, [tf.zeros([4, 4])])
tf.tpu.rewrite(second, [tf.zeros([4, 4])])
""",
    "a computation takes what a function made that was lifted out of none": V1
    + """
kept = []
tf.tpu.outside_compilation(lambda v: kept.append(tf.sin(v)), tf.zeros([4, 4]))

def computation(x):
    return x + kept[0]
"""
    + RUN,
    "beside an object that holds itself": V1
    + """
class Node:
    def __init__(self, value):
        self.value = value
        self.parent = self

def computation(x):
    kept = []

    def host(v):
        kept.append(tf.sin(v))
        return Node(tf.cos(v))

    made = tf.tpu.outside_compilation(host, x)
    return made.parent.value + kept[0]  # error: TPU207
"""
    + RUN,
}
RETURNED = {
    "in an object": STATE
    + """
def computation(x):
    made = tf.tpu.outside_compilation(lambda v: State(tf.sin(v)), x)
    return made.value + 1.0
"""
    + RUN,
    "in an object in an object": STATE
    + """
def computation(x):
    made = tf.tpu.outside_compilation(lambda v: State(State(tf.sin(v))), x)
    return made.value.value + 1.0
"""
    + RUN,
    "in an object in a list": STATE
    + """
def computation(x):
    made = tf.tpu.outside_compilation(lambda v: [State(tf.sin(v))], x)
    return made[0].value + 1.0
"""
    + RUN,
    "in an object in a dict": STATE
    + """
def computation(x):
    made = tf.tpu.outside_compilation(lambda v: {"sine": State(tf.sin(v))}, x)
    return made["sine"].value + 1.0
"""
    + RUN,
    "in one of two objects": STATE
    + """
import sys

def host(v):
    if len(sys.argv) > 1:
        return State(tf.sin(v))
    return State(tf.cos(v))

def computation(x):
    made = tf.tpu.outside_compilation(host, x)
    return made.value + 1.0
"""
    + RUN,
    "in an object of TensorFlow's": V1
    + """
def host(v):
    made = tf.SparseTensor(tf.where(v), tf.sin(v), [4, 4])
    made.sine = tf.sin(v)
    return made

def computation(x):
    made = tf.tpu.outside_compilation(host, x)
    return made.values + made.sine
"""
    + RUN,
    "and nothing at all": V1
    + """
def computation(x):
    tf.tpu.outside_compilation(lambda v: None, x)
    return x
"""
    + RUN,
}


@pytest.mark.parametrize("text", KEPT_ASIDE.values(), ids=KEPT_ASIDE)
def test_a_tensor_that_the_host_keeps_aside_may_not_be_used(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU207"]) == expected(text, ["TPU207"])


@pytest.mark.parametrize("text", RETURNED.values(), ids=RETURNED)
def test_a_tensor_that_the_host_returns_may_be_used(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU207"]) == expected(text, ["TPU207"])
