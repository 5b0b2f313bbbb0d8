"""Programs with TPU611, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, V1

METRIC_ALONE = (
    V1
    + """
import project.metrics

def named(losses):
    return {{"mean": tf.metrics.mean(losses)}}

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    metrics = (lambda losses: {result}, [tf.square(features)]){mark}
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
"""
    + ESTIMATOR
)
RESULTS = {
    "tf.metrics.mean(losses)": "  # error: TPU611",
    "tf.compat.v1.metrics.root_mean_squared_error(losses, losses)": "  # error: TPU611",
    "{'mean': tf.metrics.mean(losses)}": "",
    "named(losses)": "",
    "project.metrics.named(losses)": "",
}
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


@pytest.mark.parametrize("result", RESULTS)
def test_a_missed_alarm_a_metric_without_a_name(result: str, tmp_path: Path) -> None:
    assert_marked(METRIC_ALONE.format(result=result, mark=RESULTS[result]), tmp_path)
