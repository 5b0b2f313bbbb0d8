"""Keras objects that have their variables before a step: the only definite ones of TPU702."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties, reported
from tests.rules.openings import SYSTEM

TRAIN = (
    SYSTEM
    + """
import sys
import library

keras = tf.keras
layers = tf.keras.layers
inputs = keras.Input([4])
outputs = layers.Dense(1)(inputs)

class Net(keras.Model):
    pass

class Deep(Net):
    pass

class Other(library.Model):
    pass

class Mixed(Other, library.Mixin):
    pass

with strategy.scope():
    optimizer = keras.optimizers.Adam()

{made}

def step(x):
    model(x)
    optimizer.apply_gradients(zip(library.gradients(x), model.trainable_variables))

@tf.function
def train_step(x):
    strategy.run(step, args=(x,))
"""
)
# The model of a step, made outside the scope, and the certainty of the finding.
MODELS = {
    "model = keras.applications.ResNet50()": "definite",
    'model = keras.models.load_model("model")': "definite",
    "model = keras.Model(inputs, outputs)": "definite",
    "model = keras.Model()": "possible",
    "model = keras.Sequential([layers.InputLayer([4]), layers.Dense(1)])": "definite",
    "model = keras.Sequential([layers.Dense(1, input_shape=[4])])": "definite",
    "model = keras.Sequential([layers.Dense(1, name='last')])": "possible",
    "model = keras.Sequential([])": "possible",
    "model = keras.Sequential()": "possible",
    "model = keras.Sequential()\nmodel.add(layers.Dense(1, input_shape=[4]))": "definite",
    "model = keras.Sequential()\nmodel.add(layers.Dense(1))": "possible",
    "model = keras.Sequential()\nif sys.argv: model.add(keras.Input([4]))": "possible",
    "model = keras.Sequential()\nwith strategy.scope(): model.add(keras.Input([4]))": "possible",
    "model = keras.Sequential(library.layers(keras.Input([4])))": "possible",
    "model = keras.Sequential([library.layer(), layers.Dense(1)])": "possible",
    "model = keras.Sequential([layers.Dense(1)])\nmodel.build([None, 4])": "definite",
    "model = keras.Sequential([layers.Dense(1)])\nmodel.get_config()": "possible",
    "model = keras.Sequential([layers.Dense(1)])\nkeras.Sequential([]).build([4])": "possible",
}
# The argument of `compile` under the scope: True where it is reported.
COMPILED = {
    "model = keras.Sequential([])": True,
    "model = keras.applications.ResNet50()": True,
    'model = keras.models.load_model("model")': True,
    "model = Net()": True,
    "model = Deep()": True,
    "model = Other()": False,
    "model = Mixed()": False,
    "model = library.Sequential([])": False,
    "model = library.applications.Net()": False,
    "model = layers.Dense(1)": False,
    "model = library.build()": False,
}
OPTIMIZERS = {
    "keras.optimizers.Adam()": True,
    "keras.optimizers.SGD(0.1, momentum=0.9)": True,
    "keras.optimizers.SGD(0.1, momentum=0.0)": False,
    'keras.optimizers.get("adam")': False,
    "library.optimizers.Adam()": False,
    "keras.losses.MeanSquaredError()": False,
}


@pytest.mark.parametrize("creation", MODELS)
def test_a_model_that_a_step_updates(creation: str, tmp_path: Path) -> None:
    assert certainties(TRAIN.replace("{made}", creation), tmp_path, "TPU702") == [MODELS[creation]]


@pytest.mark.parametrize("creation", COMPILED)
def test_a_model_that_is_compiled(creation: str, tmp_path: Path) -> None:
    start = TRAIN.partition("def step")[0].replace("{made}", creation)
    text = start + "with strategy.scope():\n    model.compile()\n"
    assert bool(reported(text, tmp_path, ["TPU702"])) == COMPILED[creation]


@pytest.mark.parametrize("creation", OPTIMIZERS)
def test_an_optimizer_that_compile_takes(creation: str, tmp_path: Path) -> None:
    start = TRAIN.partition("def step")[0].replace("{made}", f"taken = {creation}")
    text = start + "with strategy.scope():\n    keras.Sequential([]).compile(taken)\n"
    assert bool(reported(text, tmp_path, ["TPU702"])) == OPTIMIZERS[creation]
