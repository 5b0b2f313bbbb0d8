"""Programs with TPU611, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, V1

PROGRAMS = {
    "a missed alarm: a metric that a flag adds": V1
    + """
FLAGS = tf.app.flags.FLAGS

def metric_fn(losses):
    metrics = {"mean": tf.metrics.mean(losses)}
    if FLAGS.all_metrics:
        metrics["sum"] = tf.reduce_sum(losses)  # error: TPU611
        metrics["root"] = tf.metrics.root_mean_squared_error(losses, losses)
    return metrics

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    metrics = (metric_fn, [tf.square(features)])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
"""
    + ESTIMATOR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
