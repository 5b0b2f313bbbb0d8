"""Gradients through the host, and the certainty that they cannot be compiled.

A mark in a program is what TPU206 says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

CONTRIB = """
import tensorflow as tf
"""
V2 = """
import tensorflow as tf
from tensorflow.python.tpu import tpu
"""
# The cluster is given `doubled`, and no kernel of the device can compute it.
LOSS = """
def cube(x):
    return tf.py_function(lambda v: v**3, [x], tf.float32)

def computation(x):
    doubled = x * 2.0
    loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, doubled))
"""
RUN = """
tf.tpu.rewrite(computation, [tf.zeros([4])])
"""

PROGRAMS = {
    "TensorFlow 1's by its submodule": """
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gradients_impl
"""
    + LOSS
    + """
    return gradients_impl.gradients(loss, [doubled])  # error: TPU206
"""
    + RUN,
    "TensorFlow 1's, as there is tf.contrib": CONTRIB
    + LOSS.replace("tf.tpu", "tf.contrib.tpu")
    + """
    return tf.gradients(loss, [doubled])  # error: TPU206
"""
    + RUN.replace("tf.tpu", "tf.contrib.tpu"),
    "TensorFlow 2's colocates by itself": V2
    + LOSS.replace("tf.tpu", "tpu")
    + """
    return tf.gradients(loss, [doubled])
"""
    + RUN.replace("tf.tpu", "tpu"),
    "a library's may do anything": CONTRIB
    + "from library import gradients\n"
    + LOSS.replace("tf.tpu", "tf.contrib.tpu")
    + """
    return gradients(loss, [doubled])
"""
    + RUN.replace("tf.tpu", "tf.contrib.tpu"),
    "a function that is given may do anything": V1
    + """
def cube(x):
    return tf.py_function(lambda v: v**3, [x], tf.float32)

def build(minimize):
    def computation(x):
        loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, x * 2.0))
        return minimize(loss)

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method of what is no tape": V1
    + "from library import solver\n"
    + LOSS
    + """
    return solver.gradient(loss, [doubled])
"""
    + RUN,
    "a method of what is another object of TensorFlow's": V1
    + "optimizer = tf.train.AdamOptimizer()\n"
    + LOSS
    + """
    return optimizer.gradient(loss, [doubled])
"""
    + RUN,
    "an optimizer that is given": V1
    + """
def cube(x):
    return tf.py_function(lambda v: v**3, [x], tf.float32)

def build(optimizer):
    def computation(x):
        loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, x * 2.0))
        return optimizer.minimize(loss)  # possible: TPU206

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "asked for colocation in so many words": V1
    + LOSS
    + """
    return tf.gradients(loss, [doubled], colocate_gradients_with_ops=True)
"""
    + RUN,
    "asked for none in so many words": V1
    + LOSS
    + """
    return tf.gradients(loss, [doubled], colocate_gradients_with_ops=False)  # error: TPU206
"""
    + RUN,
    "with arguments that are not seen": V1
    + "from library import settings\n"
    + LOSS
    + """
    return tf.gradients(loss, [doubled], **settings())
"""
    + RUN,
    "without any argument": V1
    + LOSS
    + """
    return tf.gradients()
"""
    + RUN,
    "of what goes into the cluster, by keyword": V1
    + LOSS
    + """
    return tf.gradients(ys=loss, xs=[doubled])  # error: TPU206
"""
    + RUN,
    "of what goes into the cluster, by a tape's keywords": V1
    + """
def cube(x):
    return tf.py_function(lambda v: v**3, [x], tf.float32)

def computation(x):
    doubled = x * 2.0
    with tf.GradientTape() as tape:
        tape.watch(doubled)
        loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, doubled))
    return tape.gradient(target=loss, sources=[doubled])  # error: TPU206
"""
    + RUN,
    "of something else, which may have nothing to do with it": V1
    + LOSS
    + """
    tripled = x * 3.0
    return tf.gradients(loss + tf.reduce_sum(tripled), [tripled])  # possible: TPU206
"""
    + RUN,
    "of one of several things that go in": V1
    + """
def cube(x, y):
    return tf.py_function(lambda v, w: v**w, [x, y], tf.float32)

def computation(x):
    doubled, tripled = x * 2.0, x * 3.0
    loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, doubled, tripled))
    return tf.gradients(loss, [tripled])  # error: TPU206
"""
    + RUN,
    "of whatever is trained": V1
    + LOSS
    + """
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss)  # possible: TPU206
"""
    + RUN,
    "through what may or may not depend on the device": V1
    + """
def cube(x):
    return tf.py_function(lambda v: v**3, [x], tf.float32)

def build(features):
    def computation(x):
        loss = tf.reduce_sum(tf.tpu.outside_compilation(cube, features))
        return tf.gradients(loss, [x])  # possible: TPU206

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "of a loss that only a flag takes through the host": V1
    + "import sys\n"
    + LOSS
    + """
    if len(sys.argv) > 1:
        loss = tf.reduce_sum(doubled)
    return tf.gradients(loss, [doubled])  # possible: TPU206
"""
    + RUN,
    "a function that has no kernel, in another cluster": V1
    + LOSS
    + """
    loss = tf.reduce_sum(tf.tpu.outside_compilation(tf.sin, doubled))
    return tf.gradients(loss, [doubled])  # possible: TPU206
"""
    + RUN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_certainty_is_the_marked_one(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU206"]) == expected(text, ["TPU206"])
