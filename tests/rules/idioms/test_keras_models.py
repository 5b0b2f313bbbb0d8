"""Layers that a Keras model runs on the device are device code, however it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.idioms.keras_programs import COMPILED, FAMILIES, FIT, MARK, OPENING, RUN, used

BUILDS = {
    "missed before: a layer with a `__call__` that calls that of Keras": """
class Named(Loud):
    def __call__(self, x, scale=1.0):
        return super().__call__(x)


class Last(keras.Model):
    def __call__(self, inputs, **options):
        return super(Last, self).__call__(inputs=inputs, **options)

    def call(self, inputs):
        return Named()(inputs)


with strategy.scope():
    model = Last()
""",
    "a layer in a list": """
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), Loud(), layers.Dense(1)])
""",
    "a layer that is added": """
with strategy.scope():
    model = keras.Sequential()
    model.add(layers.Dense(1))
    model.add(Loud())
""",
    "a layer of a functional model": """
with strategy.scope():
    inputs = keras.Input((3,))
    x = layers.Dense(3)(inputs)
    y = Loud()(x)
    model = keras.Model(inputs, layers.Dense(1)(x + y))
""",
    "a function that builds a functional model": """
def build(width):
    inputs = keras.Input((3,))
    x = inputs
    for _ in range(2):
        x = layers.Dense(width)(Loud()(x))
    return keras.models.Model(inputs=[inputs], outputs={"y": x})


with strategy.scope():
    model = build(4)
""",
    "a Lambda": """
with strategy.scope():
    model = keras.Sequential([layers.Lambda(loud), layers.Dense(1)])
""",
    "an activation": """
with strategy.scope():
    model = keras.Sequential([layers.Dense(1, activation=loud)])
""",
    "a layer over time": """
with strategy.scope():
    model = keras.Sequential([layers.TimeDistributed(Loud()), layers.Dense(1)])
""",
    "a model in a model": """
with strategy.scope():
    inner = keras.Sequential([Quiet(), Loud()])
    inputs = keras.Input((3,))
    model = keras.Model(inputs, layers.Dense(1)(inner(inputs)))
""",
    "a class of functional models": """
class Classifier(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": tf.reduce_mean(self(x, training=True))}


with strategy.scope():
    inputs = keras.Input((3,))
    model = Classifier(inputs, Loud()(inputs))
""",
    "a class that builds itself": """
class Classifier(keras.Model):
    def __init__(self, width):
        inputs = keras.Input((3,))
        super().__init__(inputs=inputs, outputs=layers.Dense(width)(Loud()(inputs)))


with strategy.scope():
    model = Classifier(2)
""",
    "layers on the output of a model of Keras": """
with strategy.scope():
    base = keras.applications.ResNet50(include_top=False)
    model = keras.Model(base.input, layers.Dense(1)(Loud()(base.output)))
""",
    "layers on the output of a model": """
with strategy.scope():
    inner = keras.Sequential([layers.Dense(2, input_shape=(3,)), Loud()])
    model = keras.Model(inputs=inner.inputs, outputs=[layers.Dense(1)(inner.output)])
""",
    "the ends of a functional model": """
with strategy.scope():
    inputs = keras.Input((3,))
    inner = keras.Model(inputs, [layers.Dense(1)(Loud()(inputs))])
    model = keras.Model(inner.input, layers.Dense(1)(inner.outputs[0]))
""",
    "a model that is called with its inputs by name": """
with strategy.scope():
    inputs = keras.Input((3,))
    inner = keras.Model(inputs, Loud()(inputs))
    model = keras.Model(inputs, layers.Dense(1)(inner(inputs=[inputs])))
""",
    "a class of sequential models": """
class Classifier(keras.Sequential):
    def __init__(self):
        super().__init__()
        self.add(Loud())


with strategy.scope():
    model = Classifier()
""",
}

OF_A_LIBRARY = """
from learners import Adversarial

with strategy.scope():
    inputs = keras.Input((3,))
    inner = keras.Model(inputs, layers.Dense(1)(Loud()(inputs)))
    model = Adversarial(inner.input, inner.output, delta=0.2)
    model.compile(optimizer="sgd", loss="mse")
"""


def test_layers_of_a_model_of_a_class_that_is_not_seen_are_device_code(tmp_path: Path) -> None:
    text = used(OPENING + OF_A_LIBRARY + FIT)
    assert MARK in text
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


def test_layers_that_the_host_has_called_often_are_device_code(tmp_path: Path) -> None:
    tried = "    inputs = keras.Input((3,))\n" + "    Loud()(inputs)\n" * 30
    text = used(OPENING + "with strategy.scope():\n" + tried + BUILDS["a layer in a list"][1:])
    text = text.replace("with strategy.scope():\n    model", "    model") + COMPILED + FIT
    assert MARK in text
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


def test_functions_that_the_host_has_called_often_are_device_code(tmp_path: Path) -> None:
    tried = "    inputs = keras.Input((3,))\n" + "    loud(inputs)\n" * 30
    text = used(OPENING + "with strategy.scope():\n" + tried + BUILDS["a Lambda"][1:])
    text = text.replace("with strategy.scope():\n    model", "    model") + COMPILED + FIT
    assert MARK in text
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


def test_layers_that_a_model_leaves_out_are_host_code(tmp_path: Path) -> None:
    text = used(OPENING + OF_A_LIBRARY.replace("inner.output,", "layers.Dense(1)(inner.input),"))
    assert reported(text + FIT, tmp_path, FAMILIES) == []


@pytest.mark.parametrize("name", BUILDS)
def test_layers_of_a_model_that_run_calls_are_device_code(name: str, tmp_path: Path) -> None:
    text = used(OPENING + BUILDS[name] + RUN)
    assert MARK in text
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


@pytest.mark.parametrize("name", BUILDS)
def test_layers_of_a_model_that_is_fitted_are_device_code(name: str, tmp_path: Path) -> None:
    text = used(OPENING + BUILDS[name] + COMPILED + FIT)
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


@pytest.mark.parametrize("name", BUILDS)
def test_layers_of_a_model_without_a_tpu_are_host_code(name: str, tmp_path: Path) -> None:
    text = used(OPENING + BUILDS[name] + COMPILED + FIT)
    text = text.replace("tf.distribute.TPUStrategy(resolver)", "tf.distribute.MirroredStrategy()")
    assert reported(text, tmp_path, FAMILIES) == []


SILENT = {
    "a layer only for training": """
class Dropped(layers.Layer):
    def call(self, x, training=None):
        if training:
            tf.print(x)
        return x


with strategy.scope():
    model = keras.Sequential([Dropped(), layers.Dense(1)])
model.predict(tf.ones([8, 3]))
""",
    "a layer of another model": """
with strategy.scope():
    other = keras.Sequential([Loud()])
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
    "a model of the host": """
model = keras.Sequential([Loud()])
model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
    "a layer that the outputs do not need": """
with strategy.scope():
    inputs = keras.Input((3,))
    shown = Loud()(inputs)
    model = keras.Model(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
}


@pytest.mark.parametrize("name", SILENT)
def test_what_the_device_does_not_run_is_host_code(name: str, tmp_path: Path) -> None:
    text = OPENING.replace(f"  {MARK}", "") + SILENT[name]
    assert reported(text, tmp_path, FAMILIES) == []


CERTAINTIES = {
    "a layer under a condition": (
        """
with strategy.scope():
    model = keras.Sequential([layers.Dense(1)])
    if len(sys.argv) > 1:
        model.add(Loud())
    model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
        "possible",
    ),
    "a strategy that is not known": (
        """
def train(strategy):
    with strategy.scope():
        model = keras.Sequential([Loud()])
        model.compile("sgd", "mse")
    model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
        "possible",
    ),
    "a training loop of one's own": (
        """
with strategy.scope():
    model = keras.Sequential([Loud()])
model.train_on_batch(tf.ones([8, 3]), tf.ones([8, 1]))
""",
        "definite",
    ),
}


@pytest.mark.parametrize("name", CERTAINTIES)
def test_certainty_of_what_a_model_runs(name: str, tmp_path: Path) -> None:
    text, certainty = CERTAINTIES[name]
    findings = reported(OPENING + text, tmp_path, FAMILIES)
    assert [finding.certainty for finding in findings] == [certainty]


PARTS_OF_MODELS = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Concatenate, Dense, Input, Lambda

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
image = Input([8])
with strategy.scope():
    whole = tf.keras.Model(image, Dense(1)(Dense(3)(image)))
    part = tf.keras.Model(whole.input, whole.layers[-2].output)
    for layer in whole.layers[:-1]:
        layer.trainable = False
    both = Concatenate()([part.output, whole.layers[1].output])
    logs = Lambda(lambda t: {call})(both){mark}
    model = tf.keras.Model(image, Dense(1)(logs))
    model.compile("adam", "mse")
model.fit(tf.zeros([8, 8]), tf.zeros([8, 1]))
"""


@pytest.mark.parametrize(
    ("call", "mark"),
    [
        ("tf.numpy_function(np.log1p, [t], tf.float32)", "  # error: TPU501"),
        ("tf.math.log1p(t)", ""),
    ],
)
def test_a_model_of_the_inner_layers_of_another(call: str, mark: str, tmp_path: Path) -> None:
    text = PARTS_OF_MODELS.format(call=call, mark=mark)
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


OPERATIONS_IN_MODELS = """
import tensorflow as tf
from tensorflow import keras

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


def build(rate, augment=False):
    inputs = keras.Input([8])
    words = {call}{mark}
    if augment:
        words = tf.numpy_function(abs, [words], tf.float32)
    return keras.Model(inputs, keras.layers.Dense(1)(words * rate))


with strategy.scope():
    model = build(0.5)
    model.compile("adam", "mse")
model.fit(tf.zeros([8, 8]), tf.zeros([8, 1]))
"""


@pytest.mark.parametrize(
    ("call", "mark"),
    [
        ("tf.numpy_function(abs, [inputs], tf.float32)", "  # error: TPU501"),
        ("tf.image.resize(inputs, [2, 2], method='bicubic')", "  # possible: TPU501"),
        ("keras.layers.Dropout(0.1)(tf.abs(inputs))", ""),
        ("tf.numpy_function(abs, [tf.zeros([8, 8])], tf.float32) + inputs", ""),
    ],
)
def test_operations_between_the_layers_of_a_model(call: str, mark: str, tmp_path: Path) -> None:
    text = OPERATIONS_IN_MODELS.format(call=call, mark=mark)
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


def test_a_model_that_only_the_host_runs(tmp_path: Path) -> None:
    call = "tf.numpy_function(abs, [inputs], tf.float32)"
    text = OPERATIONS_IN_MODELS.format(call=call, mark="").partition("with strategy.scope()")[0]
    text += "build(0.5).predict(tf.zeros([8, 8]))\n"
    assert reported(text, tmp_path, FAMILIES) == []


# Keras calls `build` before `call`: what that sets again, or appends, is there by then.
BUILT = """
import tensorflow as tf
from tensorflow import keras

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)


class Block(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.project = None
        self.parts = []

    def build(self, shape):
        if shape[-1] != self.units:
            self.project = keras.layers.Dense(self.units)
        for _ in range(2):
            self.parts.append(keras.layers.Dense(4))

    def call(self, x):
        if self.project is not None:
            x = tf.numpy_function(abs, [self.project(x)], tf.float32)  # error: TPU501
        for part in self.parts:
            x = tf.numpy_function(abs, [part(x)], tf.float32)  # error: TPU501
        return x


with strategy.scope():
    model = keras.Sequential([Block(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.zeros([8, 4]), tf.zeros([8, 1]))
"""


def test_what_build_sets_is_there_in_call(tmp_path: Path) -> None:
    assert reported(BUILT, tmp_path, FAMILIES) == expected(BUILT, FAMILIES)
