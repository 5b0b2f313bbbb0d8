"""The text that the fix of TPU605 writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
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


PIPELINE = """
import tensorflow.compat.v1 as tf


def whole(rows):
    return rows.batch(8)


def input_fn(params):
    rows = tf.data.Dataset.range(100)
    return {rows}


def train(model_fn, config, several):
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=8
    )
    estimator.train(input_fn, max_steps=10)
"""
ROWS = {
    "rows.repeat().batch(8)": "safe",
    "rows.repeat(-1).shuffle(10).map(tf.abs).batch(8)": "safe",
    "rows.repeat(2).batch(8)": "unsafe",
    "rows.repeat(params['epochs']).batch(8)": "unsafe",
    "rows.repeat().take(10).batch(8)": "unsafe",
    "(rows.repeat() if params['train'] else rows).batch(8)": "unsafe",
    "rows.batch(8).repeat()": "unsafe",
    # Another caller may pass what ends.
    "whole(rows.repeat())": "unsafe",
}


@pytest.mark.parametrize("rows", ROWS)
def test_the_fix_is_safe_if_no_batch_can_be_short(rows: str, tmp_path: Path) -> None:
    text = PIPELINE.replace("{rows}", rows)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU605"
    ]
    assert actual.fix is not None
    assert actual.fix.applicability.value == ROWS[rows]
