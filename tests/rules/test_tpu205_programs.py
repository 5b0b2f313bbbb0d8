"""Programs with TPU205, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, TRAINED_ESTIMATOR, V1

PROGRAMS = {
    "a function that is meant for the host has no fault of the device": V1
    + """
def logged(x):
    tf.print(x)
    return tf.py_function(lambda y: y, [x], tf.float32)

def computation(x):
    x += tf.tpu.outside_compilation(tf.numpy_function(len, [x], tf.int64))  # error: TPU205
    x += tf.tpu.outside_compilation(logged(x))  # error: TPU205
    return x + tf.py_function(len, [x], tf.float32)  # error: TPU501
"""
    + REWRITTEN,
    "a function of a library returns the host function": V1
    + """
import factory

def computation(x):
    return tf.tpu.outside_compilation(factory.make(x), x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method that is there to be overridden": V1
    + """
class Model:
    def make(self):
        pass

    def step(self, x):
        return tf.tpu.outside_compilation(self.make(), x * 2.0)  # possible: TPU205

    def build(self):
        return tf.tpu.rewrite(self.step, [tf.zeros([4])])  # error: TPU403
""",
    "a builder that may return None": V1
    + """
def make(flag):
    if flag:
        return tf.floor
    return None

def build(flag):
    host = make(flag)
    return tf.tpu.rewrite(lambda x: tf.tpu.outside_compilation(host, x * 2.0), [tf.zeros([4])])
""",
    "called, not passed, with keywords, in a lambda's body": V1
    + """
def halve(x, by=2.0):
    return x / by

def computation(x):
    return (lambda v: tf.tpu.outside_compilation(halve(v, by=4.0)))(x)  # error: TPU205

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a function that returns what it is given, called, not passed": V1
    + """
def keep(x):
    return x

def computation(x):
    return tf.tpu.outside_compilation(keep(x)) + 1.0  # error: TPU205

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a host function that is filled in later, or is no function": V1
    + """
class Summaries:
    hook = None

    def computation(self, x):
        tf.tpu.outside_compilation(self.hook, x)
        return x

class Images(Summaries):
    pass

images = Images()
tf.tpu.rewrite(lambda x: images.computation(x), [tf.zeros([4])])
""",
    "no host function, or one that is not seen": V1
    + """
def computation(x, arguments):
    tf.tpu.outside_compilation()
    tf.tpu.outside_compilation(*arguments)
    return x

def build(x, arguments):
    return tf.tpu.rewrite(lambda v: computation(v, arguments), [x])
""",
    "a call that may give a function": V1
    + """
import sys

def chosen(x):
    if len(sys.argv) > 1:
        return tf.sin(x)
    return tf.sin

def computation(x):
    return tf.tpu.outside_compilation(chosen(x * 2.0), x)
"""
    + REWRITTEN,
    "the mode of a spec is called for, and no host function": V1
    + """
def mode_of(params):
    return "train"

def record(loss):
    return tf.summary.scalar("loss", loss[0])

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode_of(params), loss=loss, host_call=(record, [tf.reshape(loss, [1])])
    )
"""
    + TRAINED_ESTIMATOR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
