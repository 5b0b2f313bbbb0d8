"""The text that the fix of TPU401 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after

REPLICATE = """
import tensorflow as tf


def computation({parameters}):
    return 1.0


x = tf.constant(1.0)
y = tf.constant(2.0)
tf.compat.v1.tpu.replicate(computation, inputs={inputs})
"""


@pytest.mark.parametrize(
    ("parameters", "inputs", "fixed"),
    [
        ("a", "[x, y]", "[[x], [y]]"),
        ("a, b", "[x, y]", "[[x, y]]"),
        ("a", "[x + 1.0, y]", "[[x + 1.0], [y]]"),
        ("*a", "[x, y]", "[x, y]"),  # nobody knows which is meant
        ("a, b, c", "[x, y]", "[x, y]"),
    ],
)
def test_each_replica_gets_a_list(parameters: str, inputs: str, fixed: str, tmp_path: Path) -> None:
    changed = after(REPLICATE.format(parameters=parameters, inputs=inputs), "TPU401", tmp_path)
    assert changed == REPLICATE.format(parameters=parameters, inputs=fixed).lstrip("\n")
