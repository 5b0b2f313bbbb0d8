"""The text that the fix of TPU608 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after


@pytest.mark.parametrize(
    ("arguments", "is_fixed"),
    [
        ("mode, loss=loss", True),
        ("mode=mode, loss=loss, predictions=features", True),
        ("mode, loss=loss, eval_metric_ops={}", False),  # a pair is needed instead
    ],
)
def test_a_specification_is_made_for_tpus(arguments: str, is_fixed: bool, tmp_path: Path) -> None:
    call = f"tf.estimator.EstimatorSpec({arguments})"
    text = f"""
import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if mode == tf.estimator.ModeKeys.EVAL:
        return {call}
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)


estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, config=tf.estimator.tpu.RunConfig(), use_tpu=True, eval_batch_size=8
)
estimator.evaluate(lambda params: None, steps=1)
"""
    fixed = call.replace("EstimatorSpec", "tpu.TPUEstimatorSpec") if is_fixed else call
    assert after(text, "TPU608", tmp_path) == text.replace(call, fixed).lstrip("\n")
