"""Programs on which TPU101 is definite, possible, or silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, RUN, V1

COUNTER = (
    V1
    + """
import sys
import library

total = tf.get_variable("total", [], use_resource=True)

def host(x):
    with tf.control_dependencies([x]):
        return x / total.read_value()  # {}: TPU101
"""
)
LAYER = (
    V1
    + """
layer = tf.keras.layers.Dense(4)
layer.build([None, 4])
"""
)
PROGRAMS = {
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
    "the device waits": COUNTER.format("error")
    + """
def computation(x):
    total.assign_add(1.0)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "the device waits where a flag says so": COUNTER.format("possible")
    + """
def computation(x):
    total.assign_add(1.0)
    mean = tf.tpu.outside_compilation(host, x * 2.0)
    if len(sys.argv) > 1:
        x = x + mean
    return x
"""
    + RUN,
    "what is sent may be computed on the device or not": COUNTER.format("possible")
    + """
def build(scale):
    def computation(x):
        total.assign_add(1.0)
        return x + tf.tpu.outside_compilation(host, scale)

    return tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "a function of a library takes it on the device": COUNTER.format("possible")
    + """
def computation(x):
    library.count(total)
    return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "a function of a library takes it on the host": COUNTER.format("error")
    + """
def count(x):
    library.count(total)  # possible: TPU103
    return host(x)

def computation(x):
    total.assign_add(1.0)
    return x + tf.tpu.outside_compilation(count, x * 2.0)
"""
    + RUN,
    "a method of what nobody saw created": V1
    + """
def build(state):
    def host(x):
        return x / state.total.read_value()  # possible: TPU101

    def computation(x):
        state.total.assign_add(1.0)
        with tf.control_dependencies([x * 1]):
            return x + tf.tpu.outside_compilation(host, x * 2.0)

    return tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "the last of those that a loop on the device made": V1
    + """
from library import names

def computation(x):
    for name in names:
        total = tf.get_variable(name, [], use_resource=True)
        total.assign_add(1.0)
    host = lambda v: v / total.read_value()  # possible: TPU101
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "each in the loop on the host, the last on the device": V1
    + """
from library import names

def computation(x):
    for name in names:
        total = tf.get_variable(name, [], use_resource=True)
        host = lambda v: v / total.read_value()  # possible: TPU101
        with tf.control_dependencies([x * 1]):
            x = x + tf.tpu.outside_compilation(host, x * 2.0)
    return x + total.assign_add(1.0)
"""
    + RUN,
    "a variable that the host creates": V1
    + """
made = {}

def host(x):
    made["total"] = tf.Variable(0.0)
    return x * 2.0

def computation(x):
    x = x + tf.tpu.outside_compilation(host, x * 2.0)
    return x + made["total"]
"""
    + RUN,
    "a variable that the device only creates": V1
    + """
def computation(x):
    total = tf.get_variable("total", [], use_resource=True)
    return x + tf.tpu.outside_compilation(lambda v: v / total, x * 2.0)
"""
    + RUN,
    "the device reads it, and writes it where a flag says so": COUNTER.format("error")
    + """
def computation(x):
    if len(sys.argv) > 1:
        total.assign_add(1.0)
    return x + tf.tpu.outside_compilation(host, x * total)
"""
    + RUN,
    "a layer on the device, its kernel on the host": LAYER
    + """
def host(x):
    return layer.kernel.assign(x) * 1.0  # error: TPU101

def computation(x):
    x = layer(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "its kernel on the device, the layer on the host": LAYER
    + """
def host(x):
    return layer(x)  # error: TPU101

def computation(x):
    layer.kernel.assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "its kernel on the device, its bias on the host": LAYER
    + """
def host(x):
    return x + layer.bias

def computation(x):
    layer.kernel.assign_add(x)
    return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
