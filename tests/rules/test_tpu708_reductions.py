"""Losses in steps: those that reduce by themselves, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

PROGRAM = """
# file: requirements.txt
{requirement}
# file: train.py
import sys
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.{strategy}(resolver)
losses = tf.keras.losses
more = len(sys.argv) > 1

with strategy.scope():
    loss_fn = {loss}

def replica_step(y, prediction):
    return loss_fn(y, prediction)

@tf.function
def step(y, prediction):
    return strategy.run(replica_step, args=(y, prediction))

step(tf.ones([4, 1]), tf.zeros([4, 1]))
"""
KERAS_2 = "tensorflow==2.12"
LOSSES = {
    "losses.MeanSquaredError()": ["definite"],
    "losses.Huber(delta=2.0)": ["definite"],
    "tf.losses.MeanSquaredError()": ["definite"],
    "tf.losses.MeanSquaredError(reduction=tf.losses.Reduction.NONE)": [],
    "tf.losses.mean_squared_error": [],
    "tf.compat.v1.losses.MeanSquaredError()": [],
    "losses.MeanSquaredError(reduction=losses.Reduction.AUTO)": ["definite"],
    "losses.MeanSquaredError(reduction='sum_over_batch_size')": ["definite"],
    "losses.MeanSquaredError(reduction=losses.Reduction.NONE)": [],
    "losses.MeanSquaredError(reduction='none')": [],
    "losses.MeanSquaredError(reduction=losses.Reduction.NONE if more else 'auto')": [],
    "losses.MeanSquaredError(*sys.argv)": [],
    "losses.mean_squared_error": [],
}


@pytest.mark.parametrize("loss", LOSSES)
def test_reductions_of_losses(loss: str, tmp_path: Path) -> None:
    text = PROGRAM.format(requirement=KERAS_2, strategy="TPUStrategy", loss=loss)
    assert certainties(text, tmp_path, "TPU708") == LOSSES[loss]


def test_a_sum_is_for_the_step_to_divide(tmp_path: Path) -> None:
    loss = "losses.MeanSquaredError(reduction=losses.Reduction.SUM)"
    text = PROGRAM.format(requirement=KERAS_2, strategy="TPUStrategy", loss=loss)
    assert certainties(text, tmp_path, "TPU708") == []


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("tensorflow<2.16", ["definite"]),
        ("tensorflow>=2.8", ["possible"]),
        ("tensorflow>=2.16", []),
        ("tensorflow", []),
        ("numpy", []),
    ],
)
def test_the_tensorflow_that_is_required(
    requirement: str, expected: list[str], tmp_path: Path
) -> None:
    loss = "losses.MeanSquaredError()"
    text = PROGRAM.format(requirement=requirement, strategy="TPUStrategy", loss=loss)
    assert certainties(text, tmp_path, "TPU708") == expected


def test_another_strategy_is_not_looked_at(tmp_path: Path) -> None:
    loss = "losses.MeanSquaredError()"
    text = PROGRAM.format(requirement=KERAS_2, strategy="MirroredStrategy", loss=loss)
    assert certainties(text, tmp_path, "TPU708") == []
