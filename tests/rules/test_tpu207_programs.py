"""Programs with TPU207, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "an object that is returned takes its tensors along": V1
    + """
class Result:
    def __init__(self, low, high):
        self.low = low
        self.high = high

def split(values):
    return Result(tf.minimum(values, 0.0), tf.maximum(values, 0.0))

def computation(x):
    result = tf.tpu.outside_compilation(split, x * 2.0)
    return result.low + result.high

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "the attribute is set anew on the device": V1
    + """
class Stats:
    def update(self, values):
        self.mean = tf.reduce_mean(values)
        return values - self.mean

stats = Stats()

def computation(x):
    y = tf.tpu.outside_compilation(stats.update, x * 2.0)
    stats.mean = tf.reduce_mean(y)
    return y / stats.mean

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "an attribute of another object, filled by a closure": V1
    + """
class Box:
    pass

box = Box()

def computation(x):
    def on_host(values):
        box.mean = tf.reduce_mean(values)
        return values

    y = tf.tpu.outside_compilation(on_host, x * 2.0)
    return y / box.mean  # error: TPU207

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
