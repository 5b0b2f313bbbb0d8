"""Keras models that a test chooses: each is trained under the test under which it is made.

That a run is on a TPU is the premise of what is said, so of a model for the TPU and one for other
devices, the one for the TPU counts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

HEAD = """
import sys
import tensorflow as tf

use_tpu = "--tpu" in sys.argv
debug = "--debug" in sys.argv
kind = sys.argv[1]
data = tf.data.Dataset.from_tensors((tf.zeros([8, 4]), tf.zeros([8, 4]))).repeat()

def make_strategy():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    return tf.distribute.TPUStrategy(resolver)

def make(function=None):
    inputs = tf.keras.Input([4])
    outputs = tf.keras.layers.Dense(4)(inputs)
    if function is not None:
        outputs = tf.keras.layers.Lambda(function)(outputs)
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    return model

def make_eager():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Lambda(on_host)])
    model.compile("adam", "mse", run_eagerly=True)
    return model

def on_host(x):
    return tf.py_function(abs, [x], tf.float32)
"""
CHOICES = {
    "the model is made for the TPU or for another device": """
def on_tpu(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501

if use_tpu:
    with make_strategy().scope():
        model = make(on_tpu)
        model.compile("sgd", "mse", run_eagerly=True)  # error: TPU706
else:
    model = make_eager()
model.fit(data, steps_per_epoch=4)
""",
    "a name chooses the model for the TPU": """
def on_tpu(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501

def build(kind):
    if kind == "plain":
        model = make()
        model.compile("sgd", "mse", run_eagerly=True)  # error: TPU706
        return model
    elif kind == "other":
        return make(on_tpu)
    raise ValueError(kind)

with make_strategy().scope():
    model = build(kind)
model.fit(data, steps_per_epoch=4)
""",
    "a strategy that may be missing": """
strategy = None
if use_tpu:
    strategy = make_strategy()
if strategy:
    with strategy.scope():
        model = make()
        model.compile("sgd", "mse", run_eagerly=True)  # error: TPU706
else:
    model = make_eager()
model.fit(data, steps_per_epoch=4)
""",
    "no scope around the model that the TPU would train": """
if use_tpu:
    strategy = make_strategy()
    model = make()  # error: TPU702
else:
    model = make_eager()
model.fit(data, steps_per_epoch=4)
""",
}
SILENT = {
    "only the model for the other device runs eagerly": """
if use_tpu:
    with make_strategy().scope():
        model = make()
else:
    model = make_eager()
model.fit(data, steps_per_epoch=4)
""",
    "the model that is debugged is not trained there": """
with make_strategy().scope():
    if debug:
        model = make_eager()
    else:
        model = make()
if not debug:
    model.fit(data, steps_per_epoch=4)
""",
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_model_that_a_test_chooses(name: str, tmp_path: Path) -> None:
    assert_marked(HEAD + CHOICES[name], tmp_path)


@pytest.mark.parametrize("name", SILENT)
def test_a_model_that_no_tpu_trains(name: str, tmp_path: Path) -> None:
    assert_marked(HEAD + SILENT[name], tmp_path)
