"""The text that the fix of TPU205 writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after

COMPUTATION = """
import tensorflow.compat.v1 as tf


def half(x, by=2.0):
    return x / by


def computation(x):
    return {call}


tf.tpu.rewrite(computation, [tf.zeros([4])])
"""


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("half(x)", "half, x"),
        ("half(x, by=3.0)", "half, x, by=3.0"),
        ("half((x + 1.0) * (2.0))", "half, (x + 1.0) * (2.0)"),
        ("(half(x))", "half, x"),
        ("half(x,), 1.0", "half, x, 1.0"),
        ("half(\n        x,  # the input\n    )", "half,\n        x,  # the input\n    "),
    ],
)
def test_the_function_is_passed(call: str, fixed: str, tmp_path: Path) -> None:
    before = COMPUTATION.format(call=f"tf.tpu.outside_compilation({call})")
    expected = COMPUTATION.format(call=f"tf.tpu.outside_compilation({fixed})")
    assert after(before, "TPU205", tmp_path) == expected.lstrip("\n")
