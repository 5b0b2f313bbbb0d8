"""Optimizers of the project in a `CrossShardOptimizer`: what they do is done on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

PROGRAM = """
import tensorflow.compat.v1 as tf


class Decay(tf.train.Optimizer):
    def __init__(self, rate):
        super().__init__(False, "Decay")
        self.rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = []
        for gradient, variable in grads_and_vars:
            tf.py_func(print, [gradient], [])  # MARK
            updates.append(variable.assign(variable - self.rate * gradient))
        return tf.group(*updates)


def model_fn(features, labels, mode, params):
    weights = tf.get_variable("weights", [4])
    loss = tf.reduce_sum(weights * features["x"])
    OPTIMIZER
    variables = tf.trainable_variables()
    train_op = UPDATE
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
"""
WRAPPED = "optimizer = tf.tpu.CrossShardOptimizer(Decay(0.1))"
GIVEN = "optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables))"
# How optimizer and update are written, and the mark of the fault in the optimizer's update.
UPDATES = {
    "a wrapper is given gradients": (WRAPPED, GIVEN, "error: TPU501"),
    "a wrapper minimizes": (WRAPPED, "optimizer.minimize(loss)", "error: TPU501"),
    "a wrapper of another optimizer": (
        "optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())",
        GIVEN,
        "not on the device",
    ),
}


@pytest.mark.parametrize(("optimizer", "update", "mark"), UPDATES.values(), ids=UPDATES)
def test_the_update_of_a_wrapped_optimizer_is_read(
    optimizer: str, update: str, mark: str, tmp_path: Path
) -> None:
    text = PROGRAM.replace("OPTIMIZER", optimizer).replace("UPDATE", update)
    assert_marked(text.replace("MARK", mark), tmp_path)
