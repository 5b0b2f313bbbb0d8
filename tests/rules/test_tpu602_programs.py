"""Programs with TPU602, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, HOST_CALL, MODEL_FN, V1

PROGRAMS = {
    "a missed alarm: a key that is not taken, of a dict that may have more": V1
    + """
def on_host(rows, more=None):
    return tf.summary.scalar("rows", tf.reduce_mean(rows))

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    tensors = {"rows": tf.reduce_mean(features, axis=-1), "loss": tf.reshape(loss, [1])}
    if params["more"]:
        tensors["more"] = tf.reshape(loss, [1])
    host_call = (on_host, tensors)  # error: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)
"""
    + ESTIMATOR,
    "keys that the function takes, and some that are not seen": V1
    + """
def on_host(rows, **more):
    return tf.summary.scalar("rows", tf.reduce_mean(rows))

def of_rows(rows, more):
    return tf.summary.scalar("rows", tf.reduce_mean(rows))

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    rows = tf.reduce_mean(features, axis=-1)
    tensors = {name: rows for name in params["names"]}
    tensors["rows"] = rows
    if params["more"]:
        tensors["more"] = rows
    function = on_host if params["all"] else of_rows
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(function, tensors))
"""
    + ESTIMATOR,
    "the keys of a dict that another library makes": V1
    + """
import library

def model_fn(features, labels, mode, params):
    loss, monitored = library.losses(features)
    names = list(monitored.keys())

    def host_call_fn(step, *values):
        for i, name in enumerate(names):
            tf.summary.scalar("train/" + name, values[i][0])
        return step

    tensors = [tf.reshape(tf.train.get_global_step(), [1])]
    tensors += [tf.reshape(monitored[name], [1]) for name in names]
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(host_call_fn, tensors))
"""
    + ESTIMATOR,
    "a list that a loop fills, for a function whose parameters are counted": V1
    + """
def metric_fn(a, b, c):
    return {"a": tf.metrics.mean(a)}

def model_fn(features, labels, mode, params):
    rows = tf.reduce_mean(features, axis=-1)
    tensors = []
    for _ in range(params["heads"]):
        tensors.append(rows)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(rows), eval_metrics=(metric_fn, tensors)
    )
"""
    + ESTIMATOR,
    "one of two functions, chosen by a flag, cannot take the tensors": V1
    + """
def short(labels, logits):
    return {"mean": tf.metrics.mean(logits)}

def long(labels, logits, weights):
    return {"mean": tf.metrics.mean(logits, weights)}

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    metric_fn = long if params["weighted"] else short
    eval_metrics = (metric_fn, [labels, logits])  # possible: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(logits), eval_metrics=eval_metrics
    )
"""
    + ESTIMATOR,
    "the pair by position, and an object that is called": V1
    + """
class Metrics:
    def __call__(self, logits):
        return {"mean": tf.metrics.mean(logits)}

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    loss = tf.reduce_mean(logits)
    pair = [Metrics(), [labels, logits]]  # error: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(mode, {"x": logits}, loss, None, pair)
"""
    + ESTIMATOR,
    "keyword-only parameters with defaults": MODEL_FN
    + """
    tensors = [rows]
    def on_host(values, *, prefix="train"):
        return tf.summary.histogram(prefix, values)
"""
    + HOST_CALL,
    "a function and a list that are not seen": MODEL_FN
    + """
    on_host = library.on_host
    tensors = [rows, rows]
"""
    + HOST_CALL,
    "a list with a part that is not seen": MODEL_FN
    + """
    tensors = [rows, *library.tensors(features)]
    def on_host(values, others):
        return tf.summary.histogram("values", values)
"""
    + HOST_CALL,
    "a decorated function": MODEL_FN
    + """
    tensors = [rows, rows]
    @library.once
    def on_host(values):
        return tf.summary.histogram("values", values)
"""
    + HOST_CALL,
    "names that the function does not have": MODEL_FN
    + """
    tensors = {"rows": rows}
    def on_host(values):
        return tf.summary.histogram("values", values)
    pair = (on_host, tensors)  # error: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=pair)
"""
    + ESTIMATOR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
