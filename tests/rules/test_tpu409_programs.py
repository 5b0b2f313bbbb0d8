"""Programs with TPU409, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PADDED = "padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO"
PROGRAMS = {
    "a static shape that no replica pads": V1
    + """
def computation(x):
    return x

def build():
    inputs = [[tf.zeros([9])], [tf.ones([9])]]
    return tf.tpu.replicate(computation, inputs, maximum_shapes=[tf.TensorShape([4])])
""",
    "padding that may have an effect": V1
    + """
def computation(x):
    return x

def build(x, spec, **options):
    tf.tpu.replicate(computation, [[x], [x]], padding_spec=spec)
    tf.tpu.replicate(
        computation, [[x], [x]], padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO, **options
    )
""",
    "padding without effect, by position and in structures": V1
    + """
def computation(*args):
    return args[0]

def build(x):
    spec = tf.tpu.PaddingSpec.POWER_OF_TWO
    rows = [[tf.zeros([4]), tf.ones([2, 2])]] * 2
    shapes = [tf.TensorShape([None]), tf.TensorShape([None, 2])]
    tf.tpu.replicate(computation, rows, None, None, None, shapes, spec)  # error: TPU409
    tf.tpu.replicate(computation, [[x], [x]], None, None, None, [], spec)  # error: TPU409
    return tf.tpu.replicate(computation, [[x]], padding_spec=spec)  # error: TPU409
""",
    "padding where not all shapes are seen": V1
    + """
def computation(*args):
    return args[0]

def build(a, more):
    four = tf.zeros([4])
    spec = tf.tpu.PaddingSpec.POWER_OF_TWO
    shape = tf.TensorShape([4])
    rows = [[four], [four]]
    for each in more:
        rows.append([four])
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape], padding_spec=spec)
    tf.tpu.replicate(computation, [], maximum_shapes=[shape], padding_spec=spec)
    tf.tpu.replicate(
        computation, [[four, a], [four, a]], maximum_shapes=[shape, shape], padding_spec=spec
    )
    row = [four]
    for each in more:
        row.append(four)
    tf.tpu.replicate(computation, [row, row], maximum_shapes=[shape, shape], padding_spec=spec)
    rows = [[{"x": four}], [{"x": a}]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[{"x": shape}], padding_spec=spec)
    return tf.tpu.replicate(computation, [[a], [four]], padding_spec=spec)  # error: TPU409
""",
    "one replica, without inputs": V1
    + f"""
def build(f, shapes):
    tf.tpu.replicate(f, None, maximum_shapes=shapes, {PADDED})  # error: TPU409
""",
    "maximum shapes that are empty, and those that may not be": V1
    + f"""
def build(f, x, sizes):
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[], {PADDED})  # error: TPU409
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[*sizes], {PADDED})
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[tf.TensorShape([5])], {PADDED})
    _, *shapes = sizes
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=shapes, {PADDED})
""",
    "a padding that another function chooses": V1
    + """
from library import chosen_padding

def build(f, x):
    tf.tpu.replicate(f, [[x], [x]], padding_spec=chosen_padding())
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
