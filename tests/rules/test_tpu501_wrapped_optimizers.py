"""Optimizers and schedules of the project: what they do is done on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

PROGRAM = """
import tensorflow.compat.v1 as tf


class Decay(tf.train.Optimizer):
    def __init__(self, rate):
        super().__init__(False, "Decay")
        self.rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = []
        for gradient, variable in grads_and_vars:
            updates.append(tf.py_func(print, [gradient], []))  # MARK
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


STEP = (
    SYSTEM
    + """
class Decay(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        tf.print(step)  # MARK
        return 1.0 / tf.cast(step, tf.float32)

with strategy.scope():
    kernel = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.Adam(RATE)

@tf.function
def train(x):
    def step(x):
        optimizer.apply_gradients([(x, kernel)])

    strategy.run(step, args=(x,))
"""
)
RATES = {
    "by position": ("Decay()", "error: TPU501"),
    "by name": ("learning_rate=Decay()", "error: TPU501"),
    "as another argument": ("0.1, epsilon=Decay()", "not on the device"),
}


@pytest.mark.parametrize(("rate", "mark"), RATES.values(), ids=RATES)
def test_the_schedule_of_an_optimizer_is_read(rate: str, mark: str, tmp_path: Path) -> None:
    assert_marked(STEP.replace("RATE", rate).replace("MARK", mark), tmp_path)
