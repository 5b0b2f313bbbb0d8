"""A model_fn whose specification another function makes: it is one by its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "a model_fn that makes an object, which makes the specification": V1
    + """
class Model:
    @classmethod
    def model_fn(cls, features, labels, mode, params):
        return cls(features, mode)()

    def __init__(self, features, mode):
        self.features, self.mode = features, mode

    def __call__(self):
        lengths = tf.identity(self.features["lengths"])
        weights = tf.cast(tf.sequence_mask(lengths), tf.float32)  # error: TPU502
        loss = tf.reduce_mean(weights)
        return tf.estimator.tpu.TPUEstimatorSpec(mode=self.mode, loss=loss)
""",
    "a model_fn whose object makes a specification for no TPU": V1
    + """
class Model:
    @classmethod
    def model_fn(cls, features, labels, mode, params):
        return cls().specification(mode, tf.py_func(abs, [features], tf.float32))

    def specification(self, mode, loss):
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss)

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
""",
    "a model_fn for no TPU beside it": V1
    + """
def other_model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.py_func(abs, [features], tf.float32))
    return tf.estimator.EstimatorSpec(mode, loss=loss)

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_leads_to_a_specification_is_read_as_a_model_fn(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
