"""The text that the fix of TPU206 writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after

GRADIENT = """
import tensorflow.compat.v1 as tf


def half(x):
    return tf.py_function(lambda v: v / 2.0, [x], tf.float32)


def computation(x):
    y = x * 3.0
    z = tf.tpu.outside_compilation(half, y)
    return {call}


tf.tpu.rewrite(computation, [tf.zeros([4])])
"""


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("tf.gradients(z, [y])", "tf.gradients(z, [y], colocate_gradients_with_ops=True)"),
        (
            "tf.gradients(z, [y], colocate_gradients_with_ops=False)",
            "tf.gradients(z, [y], colocate_gradients_with_ops=True)",
        ),
        (
            "tf.gradients(\n        z,\n        [y],  # of the host's input\n    )",
            "tf.gradients(\n        z,\n        [y], colocate_gradients_with_ops=True"
            "  # of the host's input\n    )",
        ),
    ],
)
def test_the_gradient_is_colocated(call: str, fixed: str, tmp_path: Path) -> None:
    changed = after(GRADIENT.format(call=call), "TPU206", tmp_path)
    assert changed == GRADIENT.format(call=fixed).lstrip("\n")
