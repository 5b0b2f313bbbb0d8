"""The text that the fix of TPU603 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after, estimator


@pytest.mark.parametrize(
    ("sent", "fixed"),
    [
        ("loss", "tf.reshape(loss, [1])"),
        ("tf.reduce_sum(loss)", "tf.reshape(tf.reduce_sum(loss), [1])"),
        ("loss * 2.0", "loss * 2.0"),  # its place is not known
    ],
)
def test_a_scalar_is_reshaped(sent: str, fixed: str, tmp_path: Path) -> None:
    changed = after(estimator(sent=sent), "TPU603", tmp_path)
    assert changed == estimator(sent=fixed).lstrip("\n")
