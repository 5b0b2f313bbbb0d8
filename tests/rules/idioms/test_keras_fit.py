"""Functions that Keras' `fit`, `evaluate` and `predict` run on the device are device code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILIES = ["TPU5", "TPU7", "TPU1"]
MODEL = """
import tensorflow as tf

{strategy}


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        {call}
        return self.dense(inputs)

    def train_step(self, batch):
        loss = tf.reduce_mean(self(batch))
        {train}
        return {{"loss": loss}}

    def test_step(self, batch):
        {test}
        return {{"loss": tf.reduce_mean(self(batch))}}


with strategy.scope():
    model = Model()
    model.compile(optimizer="adam")


def main(dataset, valid):
    {main}
"""
TPU = (
    "resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()\n"
    "strategy = tf.distribute.TPUStrategy(resolver)"
)
PRINT = 'tf.print("here")'
FOUND = f"{PRINT}  # error: TPU501"
NOTHING = "pass"
FITS = "model.fit(dataset)"


def program(**parts: str) -> str:
    lines = {"strategy": TPU, "call": NOTHING, "train": NOTHING, "test": NOTHING}
    return MODEL.format(**{**lines, "main": FITS, **parts})


PREDICTS = program(call=FOUND, main=f"{FITS}, model.predict(valid)").replace("self(batch)", "batch")


@pytest.mark.parametrize(
    "text",
    [
        program(train=FOUND),
        program(call=FOUND),
        program(train=FOUND, test=FOUND, main="model.fit(dataset, validation_data=valid)"),
        program(test=FOUND, main=f"{FITS}, model.evaluate(valid)"),
        PREDICTS,
    ],
    ids=["the step", "the call", "the validation", "the evaluation", "the prediction"],
)
def test_functions_that_fit_runs_are_device_code(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


@pytest.mark.parametrize(
    "text",
    [
        program(),
        program(test=PRINT),
        program(train=PRINT, strategy="strategy = tf.distribute.MirroredStrategy()"),
        program(train=PRINT)
        .replace("with strategy.scope():", "with tf.name_scope('x'):")
        .replace("Model()", "Model()  # error: TPU702"),
        program(train=PRINT).replace("tf.keras.Model", "dict"),
    ],
    ids=["no fault", "no validation", "GPUs", "no scope", "no model"],
)
def test_functions_that_fit_does_not_run_are_host_code(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
