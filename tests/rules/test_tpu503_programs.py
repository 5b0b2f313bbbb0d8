"""Programs with TPU503, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STEP

PROGRAMS = {
    "a growing array of known first size": STEP
    + """
def replica_step(x):
    values = tf.TensorArray(tf.float32, size=4, dynamic_size=True)
    for index in tf.range(4):
        values = values.write(index, x)
    return values.stack()
""",
    "a growing array that is filled without a loop": STEP
    + """
def replica_step(x):
    values = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # error: TPU503
    values = values.write(0, x).write(1, x)
    return values.stack()
""",
    "arrays of every kind": STEP
    + """
def replica_step(x, dynamic=True):
    fixed = tf.TensorArray(tf.float32, 0, dynamic_size=False)
    fixed = fixed.write(0, x)
    unknown = tf.TensorArray(tf.float32, size=0, dynamic_size=len(sys.argv) > 1)
    unknown = unknown.write(0, x)
    filled = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    filled = filled.unstack(x)
    both = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # error: TPU503
    both.unstack(x)
    both.write(9, x)
    unused = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # possible: TPU503
    either = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # possible: TPU503
    either.read(0)
    default = tf.TensorArray(tf.float32, dynamic_size=True)  # error: TPU503
    default = default.write(0, x)
    return fixed.stack(), filled.stack(), default.stack()
""",
    "an array that another one is beside": STEP
    + """
def replica_step(x):
    filled = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    filled = filled.unstack(x)
    sized = tf.TensorArray(tf.float32, size=4)
    sized = sized.write(0, x)
    return filled.stack() + sized.stack()
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
