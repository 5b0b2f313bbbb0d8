"""Programs with TPU505, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STEP

SOFT_STEP = STEP + "tf.config.set_soft_device_placement(True)\n"
PROGRAMS = {
    "a host cluster in a branch, in no loop": STEP
    + """
def replica_step(x):
    if tf.reduce_sum(x) > 0.0:
        x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)
    return x
""",
    "a host cluster in the loop of a loop": STEP
    + """
def replica_step(x):
    for _ in tf.range(4):
        for _ in tf.range(4):
            x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)  # error: TPU505
    return x
""",
    "a host cluster in a loop that only some steps run": STEP
    + """
def replica_step(x):
    if tf.reduce_sum(x) > 0.0:
        for _ in tf.range(4):
            x = tf.compat.v1.tpu.outside_compilation(tf.math.lgamma, x)  # error: TPU505
    return x
""",
    "operations in a loop that the compiler refuses": STEP
    + """
def replica_step(x):
    for _ in tf.range(4):
        tf.print(x)  # error: TPU501
    return x
""",
    "operations in a loop under soft placement": SOFT_STEP
    + """
y = tf.ones([4, 2])

def replica_step(x):
    tf.print(x)
    for _ in tf.range(4):
        x = tf.math.add(x, 1.0)
        tf.print(x)  # error: TPU505
        tf.summary.scalar("x", x)  # possible: TPU505
        x = tf.image.extract_glimpse(x, [2, 2], y)  # possible: TPU505
    return x
""",
    "clusters in the host function of a loop": STEP
    + """
def inner(x):
    return tf.math.lgamma(x)

def on_host(x):
    for _ in tf.range(4):
        x = tf.compat.v1.tpu.outside_compilation(inner, x)  # possible: TPU201
    return x

def replica_step(x):
    x = tf.compat.v1.tpu.outside_compilation(on_host, x)
    for _ in tf.range(4):
        x = tf.compat.v1.tpu.outside_compilation(on_host, x)  # error: TPU505
    return x
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
