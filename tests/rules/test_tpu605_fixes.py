"""The text that the fix of TPU605 writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after, estimator


@pytest.mark.parametrize(
    ("batch", "fixed"),
    [
        ("batch(8)", "batch(8, drop_remainder=True)"),
        ("batch(8, drop_remainder=False)", "batch(8, drop_remainder=True)"),
        ("batch(8,)", "batch(8, drop_remainder=True)"),
    ],
)
def test_the_smaller_last_batch_is_dropped(batch: str, fixed: str, tmp_path: Path) -> None:
    changed = after(estimator(batch=batch), "TPU605", tmp_path)
    assert changed == estimator(batch=fixed).lstrip("\n")
