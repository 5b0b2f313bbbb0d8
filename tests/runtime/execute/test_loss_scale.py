"""By what a replica divides its loss decides how far the replicas train together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.runtime.strategies import pod

ROWS = np.arange(8.0, dtype=np.float32).reshape(8, 1) / 8
Loss = Callable[[tf.Tensor, Any], tf.Tensor]


def mean_of_replica(errors: tf.Tensor, _: Any) -> tf.Tensor:
    return tf.reduce_mean(errors)


def divided_mean(errors: tf.Tensor, strategy: Any) -> tf.Tensor:
    return tf.reduce_mean(errors) / strategy.num_replicas_in_sync


def average(errors: tf.Tensor, _: Any) -> tf.Tensor:
    return tf.nn.compute_average_loss(errors)


def first_update(loss: Loss, cores: int) -> Any:
    """Return what one step takes from a weight; the batch of all cores is the same."""
    with pod(cores=cores) as strategy:
        with strategy.scope():
            model = tf.keras.Sequential(
                [tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")]
            )
            model.build([None, 1])
            optimizer = tf.keras.optimizers.SGD(0.1)

        def replica_step(x: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                value = loss(tf.square(model(x) + 1.0)[:, 0], strategy)
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        @tf.function
        def step(x: Any) -> None:
            strategy.run(replica_step, args=(x,))

        batches = tf.data.Dataset.from_tensors(ROWS).unbatch().batch(8, drop_remainder=True)
        step(next(iter(strategy.experimental_distribute_dataset(batches))))
        return 1.0 - model.trainable_variables[0].numpy().item()


@pytest.mark.parametrize("cores", [2, 4])
def test_a_plain_mean_trains_as_many_times_too_fast_as_there_are_cores(cores: int) -> None:
    """TPU713."""
    alone = first_update(mean_of_replica, 1)
    assert first_update(mean_of_replica, cores) == pytest.approx(cores * alone, rel=1e-5)


@pytest.mark.parametrize("loss", [divided_mean, average])
def test_a_loss_that_is_scaled_trains_as_one_core_does(loss: Loss) -> None:
    alone = first_update(mean_of_replica, 1)
    assert first_update(loss, 1) == pytest.approx(alone, rel=1e-5)
    assert first_update(loss, 4) == pytest.approx(alone, rel=1e-5)
