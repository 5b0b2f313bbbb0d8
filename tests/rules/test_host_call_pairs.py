"""Tensors given with a host_call that are certainly or possibly wrong for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import ESTIMATOR, V1

FAMILIES = ["TPU601", "TPU602", "TPU603"]
BEGIN = (
    V1
    + """
import library
import sys

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    rows = tf.reduce_mean(features, axis=-1)
"""
)
END = (
    """
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))
"""
    + ESTIMATOR
)

PROGRAMS = {
    "either a tensor or a number is taken from outside": BEGIN
    + """
    shown = loss if len(sys.argv) > 1 else 1.0
    tensors = [rows]
    def on_host(values):
        return tf.summary.scalar("loss", shown)  # possible: TPU601
"""
    + END,
    "a tensor from outside goes where it is not seen": BEGIN
    + """
    tensors = [rows]
    def on_host(values):
        return library.summary("loss", loss)  # possible: TPU601
"""
    + END,
    "keyword-only parameters with defaults": BEGIN
    + """
    tensors = [rows]
    def on_host(values, *, prefix="train"):
        return tf.summary.histogram(prefix, values)
"""
    + END,
    "a function and a list that are not seen": BEGIN
    + """
    on_host = library.on_host
    tensors = [rows, rows]
"""
    + END,
    "a list with a part that is not seen": BEGIN
    + """
    tensors = [rows, *library.tensors(features)]
    def on_host(values, others):
        return tf.summary.histogram("values", values)
"""
    + END,
    "a decorated function": BEGIN
    + """
    tensors = [rows, rows]
    @library.once
    def on_host(values):
        return tf.summary.histogram("values", values)
"""
    + END,
    "names that the function does not have": BEGIN
    + """
    tensors = {"rows": rows}
    def on_host(values):
        return tf.summary.histogram("values", values)
    pair = (on_host, tensors)  # error: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=pair)
"""
    + ESTIMATOR,
    "either a scalar or a vector": BEGIN
    + """
    tensors = [loss if len(sys.argv) > 1 else rows]  # possible: TPU603
    def on_host(values):
        return tf.summary.histogram("values", values)
"""
    + END,
    "a scalar, a number, and a variable that is no step": BEGIN
    + """
    tensors = [3.0, tf.get_variable("rate", []), loss]  # error: TPU603
    def on_host(number, rate, values):
        return tf.summary.histogram("values", values)
"""
    + END,
    "a scalar where each core may get the same": BEGIN
    + """
    tensors = [loss]  # possible: TPU603
    def on_host(values):
        return tf.summary.histogram("values", values)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=library.config())
""",
    "a scalar where each core gets the same": BEGIN
    + """
    tensors = [loss]
    def on_host(values):
        return tf.summary.histogram("values", values)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

settings = tf.estimator.tpu.TPUConfig(
    per_host_input_for_training=tf.estimator.tpu.InputPipelineConfig.BROADCAST
)
config = tf.estimator.tpu.RunConfig(tpu_config=settings)
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=config)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
