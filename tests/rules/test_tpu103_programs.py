"""Programs with TPU103, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, RUN, V1

PROGRAMS = {
    "what the host function only hands back was never sent": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def on_host(v):
    return {"scaled": v / count, "value": v}  # error: TPU103

def computation(x):
    with tf.control_dependencies([x * 1]):
        both = tf.tpu.outside_compilation(on_host, x * 2.0)
    return both["value"] + count.assign_add(1.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a control dependency does not hold the device up": V1
    + """
count = tf.get_variable("count", shape=[], use_resource=True)

def computation(x):
    loss = tf.reduce_sum(x * 2.0)
    seen = tf.tpu.outside_compilation(lambda v: count.assign(v), loss)  # error: TPU103
    with tf.control_dependencies([tf.group(seen)]):
        return loss + count.read_value()

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "two that only read disagree on nothing": V1
    + """
rate = tf.get_variable("rate", shape=[], use_resource=True)

def computation(x):
    return x * rate, tf.tpu.outside_compilation(lambda v: v + rate, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
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
    "the device reads the step, the host counts it": V1
    + """
step = tf.train.get_or_create_global_step()

def host(x):
    step.assign_add(1)  # error: TPU103
    return x + 1.0

def computation(x):
    x = x * tf.cast(step, tf.float32)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
