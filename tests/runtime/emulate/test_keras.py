"""Keras under the strategy, with its own names only."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


def test_fit_evaluate_and_predict(strategy: Any) -> None:
    tf.keras.utils.set_random_seed(1)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False)])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])
    losses = model.fit(x, y, batch_size=16, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 4
    assert model.evaluate(x, y, batch_size=16, verbose=0, return_dict=True)["loss"] < losses[-1]
    assert model.predict(x, batch_size=16, verbose=0).shape == (32, 1)
    (kernel,) = model.trainable_variables
    values = getattr(kernel, "value", kernel)
    first, second = strategy.experimental_local_results(
        values if hasattr(values, "values") else kernel
    )
    assert np.array_equal(first, second)
