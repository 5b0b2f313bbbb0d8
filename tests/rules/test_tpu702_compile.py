"""Alarms and silence of TPU702 for what `compile` takes under a scope.

A mark in a program is the finding that is expected there, with its certainty.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import SYSTEM
from tpulint.check import driver
from tpulint.config import Config
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.target_release import last_for

NET = "tf.keras.Sequential([tf.keras.layers.Dense(1)])"

TRAINS_BESIDE = f"""
try:
    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
except ValueError:
    strategy = tf.distribute.get_strategy()
model = {NET}  # error: TPU702
model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""

FLAG_OF_DEVICE = """
import tensorflow as tf
from absl import flags

FLAGS = flags.FLAGS

if FLAGS.device == "tpu":
    strategy = tf.distribute.TPUStrategy(
        tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    )
else:
    strategy = tf.distribute.MirroredStrategy()
print(strategy.num_replicas_in_sync)
"""

PROGRAMS = {
    "a model and its optimizer": SYSTEM
    + f"""
model = {NET}  # error: TPU702
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
with strategy.scope():
    model.compile(optimizer)
""",
    "a missed alarm: a model of no scope that is trained under one": SYSTEM
    + f"""
model = {NET}  # error: TPU702
model.compile("adam", "mse")
plain = {NET}  # possible: TPU702
plain.compile("sgd", "mse")
inside = {NET}  # error: TPU702
with strategy.scope():
    own = {NET}
    own.compile("adam", "mse")
    inside.compile("adam", "mse")
    model.fit(tf.ones([8, 4]), tf.ones([8]))
    plain.fit(tf.ones([8, 4]), tf.ones([8]))
    own.fit(tf.ones([8, 4]), tf.ones([8]))
    inside.fit(tf.ones([8, 4]), tf.ones([8]))
other = {NET}
other.compile("adam", "mse")
with tf.distribute.get_strategy().scope():
    other.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "an optimizer alone": SYSTEM
    + f"""
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
with strategy.scope():
    model = {NET}
    model.compile(optimizer)
""",
    "a missed alarm: metrics that are made beside the scope": SYSTEM
    + f"""
from tensorflow import keras
share = tf.keras.metrics.CategoricalAccuracy()  # error: TPU702
weighted = keras.metrics.Mean()  # error: TPU702
later, several = keras.metrics.F1Score(), keras.metrics.AUC(multi_label=True)
own, other = keras.metrics.Mean(), keras.metrics.Mean()
plain = {NET}
plain.compile("sgd", "mse", metrics=[own])
with strategy.scope():
    model = {NET}
    inside = keras.metrics.Mean()
    model.compile("sgd", "mse", metrics=[[share, later], "mae", inside, keras.metrics.mae])
    model.compile("sgd", "mse", [several], weighted_metrics={{"out": weighted}})
""",
    # A false alarm in a notebook: without a stated release, its names say which Keras it is for.
    "false alarm: names that only Keras 2 has": SYSTEM
    + """
optimizer = tf.keras.optimizers.Adam()
with strategy.scope():
    scale = tf.keras.layers.experimental.preprocessing.Normalization()
    model = tf.keras.Sequential([scale, tf.keras.layers.Dense(1)])
    model.compile(optimizer)
""",
    "false alarm: TensorFlow Addons, which need Keras 2": SYSTEM
    + """
def optimizer_of(name):
    if name == "adamw":
        import tensorflow_addons as tfa
        return tfa.optimizers.AdamW(1e-4)
    return tf.keras.optimizers.Adam()

optimizer = optimizer_of("adam")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer)
""",
    "false alarm: a model of `transformers` for TensorFlow, which needs Keras 2": SYSTEM
    + """
from transformers import (
    AutoTokenizer,
    TFAutoModelForSequenceClassification,
)

with strategy.scope():
    model = TFAutoModelForSequenceClassification.from_pretrained("xlm-roberta-base")
optimizer = tf.keras.optimizers.Adam()
model.compile(optimizer)
other = tf.keras.Sequential([tf.keras.layers.Dense(1)])  # error: TPU702
with strategy.scope():
    other.compile(optimizer)
""",
    "false alarm: a requirement that fails with Keras 3": SYSTEM
    + """
optimizer = tf.keras.optimizers.Adam()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer)
    model.add(tf.keras.layers.LeakyReLU(negative_slope=0.2))
# file: setup.py
from setuptools import setup
setup(name="net", extras_require={"tf2": ["tensorflow_addons"]})
""",
    "a missed alarm: an import that is a comment": SYSTEM
    + """
# import tensorflow_addons as tfa
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer)
""",
    "a tokenizer of `transformers`, which has no Keras": SYSTEM
    + """
from transformers import AutoTokenizer

records = tf.data.TFRecordDataset(["gs://bucket/records"])
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer)
""",
    "names that only Keras 2 has, under a condition": SYSTEM
    + f"""
import sys

optimizer = tf.keras.optimizers.Adam()  # error: TPU702
if len(sys.argv) > 1:
    scale = tf.keras.layers.experimental.preprocessing.Normalization()
with strategy.scope():
    model = {NET}
    model.compile(optimizer)
""",
    # A false alarm in a notebook that compares a CPU with a TPU.
    "false alarm: trained before there is a TPU": "import tensorflow as tf\n"
    + f"""
model = {NET}
model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""
    + SYSTEM
    + f"""
with strategy.scope():
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
other = {NET}  # possible: TPU702
other.compile(optimizer="adam", loss="mse")
other.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "an optimizer without slots": SYSTEM
    + f"""
optimizer = tf.keras.optimizers.SGD(0.1)
with strategy.scope():
    model = {NET}
    model.compile(optimizer)
""",
    # A false positive in the examples of tensorflow/tpu: TensorFlow 1.12 takes the strategy here.
    "compile is given the strategy, where there is one": SYSTEM
    + f"""
import sys

model = {NET}
model.compile("sgd", "mse", distribute=strategy if len(sys.argv) > 1 else None)
model.fit(tf.data.Dataset.range(8).batch(8, drop_remainder=True))
""",
    "a model without an optimizer": SYSTEM
    + f"""
model = {NET}  # error: TPU702
with strategy.scope():
    model.compile()
""",
    "a scope that a flag opens": SYSTEM
    + f"""
import contextlib
import sys

model = {NET}  # possible: TPU702
with strategy.scope() if len(sys.argv) > 1 else contextlib.nullcontext():
    model.compile("sgd")
""",
    "a strategy that a caller gives": f"""
import tensorflow as tf

model = {NET}  # possible: TPU702

def main(strategy):
    steps = 100 if isinstance(strategy, tf.distribute.TPUStrategy) else 1
    with strategy.scope():
        model.compile("sgd", steps_per_execution=steps)
""",
    "the scope of several GPUs": f"""
import tensorflow as tf

def on_a_tpu():
    return tf.distribute.TPUStrategy()

model = {NET}
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model.compile("sgd")
""",
    "a scope that is left before `compile`": SYSTEM
    + f"""
with strategy.scope():
    model = {NET}
    other = {NET}
    plain = {NET}
    placed = {NET}
    optimizer = tf.keras.optimizers.Adam()
model.compile("adam", "mse")  # possible: TPU702
other.compile(tf.keras.optimizers.Adam(), "mse")  # possible: TPU702
plain.compile("sgd", "mse")
placed.compile(optimizer, "mse")
for each in (model, other, plain, placed):
    each.fit(tf.ones([8, 4]), tf.ones([8, 1]))
""",
    "a scope that is left before `compile`, with names of Keras 2": SYSTEM
    + """
with strategy.scope():
    scale = tf.keras.layers.experimental.preprocessing.Normalization()
    model = tf.keras.Sequential([scale, tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8, 1]))
""",
    # A false alarm in scripts of 2020: an optimizer of Keras 3 refuses `lr`.
    "a scope that is left before `compile`, with a keyword of Keras 2": SYSTEM
    + f"""
with strategy.scope():
    model = {NET}
model.compile(tf.keras.optimizers.Adam(lr=0.1), "mse")
model.fit(tf.ones([8, 4]), tf.ones([8, 1]))
""",
    "a scope that is left before `compile`, with Keras 3": SYSTEM
    + f"""
with strategy.scope():
    model = {NET}
model.compile("adam", "mse")  # error: TPU702
model.fit(tf.ones([8, 4]), tf.ones([8, 1]))
# file: requirements.txt
tensorflow==2.18
""",
    "a `compile` in the scope of the caller, or of another strategy": """
import tensorflow as tf

def compiled(model):
    model.compile("adam", "mse")
    return model

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
gpus = tf.distribute.MirroredStrategy()
with strategy.scope():
    compiled(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
with gpus.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
compiled(model)
""",
    "what is no model": SYSTEM
    + """
import library

searcher = library.Searcher()
with strategy.scope():
    searcher.compile("sgd")
""",
    # A missed alarm: the program makes a strategy, and then forgets it.
    "a model that trains without the only strategy": SYSTEM
    + f"""
model = {NET}  # error: TPU702
model.compile(optimizer="adam", loss="mse")
model.fit(tf.data.Dataset.from_tensors((tf.ones([8, 4]), tf.ones([8]))))
""",
    "another model trains with the strategy": SYSTEM
    + f"""
small = {NET}  # possible: TPU702
small.compile(optimizer="adam", loss="mse")
small.fit(tf.ones([8, 4]), tf.ones([8]))
with strategy.scope():
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a model that trains where there is no TPU": f"""
import tensorflow as tf

try:
    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
except ValueError:
    strategy = None
if strategy is None:
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a model that trains, with a TPU or without": f"""
import tensorflow as tf

{TRAINS_BESIDE}""",
    "a missed alarm: the scope holds only words": SYSTEM
    + f"""
model = {NET}  # error: TPU702
with strategy.scope():
    print("Building the model.")
model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a missed alarm: a script that may refuse its flags": f"""
import sys
import tensorflow as tf

if len(sys.argv) < 2:
    raise ValueError("no data")
{TRAINS_BESIDE}""",
    "a missed alarm: a test of the mode around the training": FLAG_OF_DEVICE
    + f"""
if "train" in FLAGS.mode:
    model = {NET}  # error: TPU702
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a test of the device around the training": FLAG_OF_DEVICE
    + f"""
if FLAGS.hardware == "gpu":
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a test of what is not seen around the training": FLAG_OF_DEVICE
    + f"""
import library

if library.wants_to_train():
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a library that is given the strategy": SYSTEM
    + f"""
import library

library.use(strategy)
model = {NET}
model.compile(optimizer="adam", loss="mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
""",
    "a function that a scope may be around": SYSTEM
    + f"""
def train(data):
    model = {NET}
    model.compile(optimizer="adam", loss="mse")
    model.fit(data)
""",
    "models of another library": SYSTEM
    + """
import keras_hub
import transformers

one = transformers.TFBertModel.from_pretrained("bert-base-uncased")  # error: TPU702
backbone = keras_hub.models.ImageClassifier.from_preset("resnet_18")  # error: TPU702
two = transformers.TFBertModel(transformers.BertConfig())  # possible: TPU702
with strategy.scope():
    one.compile(optimizer="adam")
    backbone.compile(optimizer="adam")
    two.compile(optimizer="adam")
    three = transformers.TFBertModel(transformers.BertConfig())
    three.compile(optimizer="adam")
""",
    "a model that is only shown": SYSTEM
    + f"""
model = {NET}
with strategy.scope():
    model.summary()
""",
    "a model that compiles itself": SYSTEM
    + """
class Net(tf.keras.Model):
    def train(self, x):
        with strategy.scope():
            self.compile("sgd")
        self.fit(x)
""",
}


SCRIPTS = f"""
# file: devices.py
import tensorflow as tf

def connect():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)
# file: nets.py
import tensorflow as tf

def make():
    return {NET}
# file: train.py
import tensorflow as tf
from devices import connect
from nets import make

strategy = connect()
with strategy.scope():
    model = make()
    model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
# file: finetune.py
import tensorflow as tf
from devices import connect
from nets import make

strategy = connect()
model = make()  # error: TPU702
model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""


# A test of `__name__` around the whole program does not ask whether there is a TPU.
MAIN = f"""
import tensorflow as tf


def connect():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    except ValueError:
        resolver = None
    if resolver:
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.get_strategy()


def main():
    strategy = connect()
    batch = 16 * strategy.num_replicas_in_sync
    model = {NET}  # error: TPU702
    model.compile("adam", "mse")
    model.fit(tf.ones([batch, 4]), tf.ones([batch]))


if __name__ == "__main__":
    main()
"""


def test_a_program_that_its_main_function_runs_forgets_its_strategy(tmp_path: Path) -> None:
    assert reported(MAIN, tmp_path, ["TPU702"]) == expected(MAIN, ["TPU702"])


def test_a_model_for_runs_without_a_tpu_is_silent(tmp_path: Path) -> None:
    text = MAIN.replace("    model.fit", "    if batch == 16:\n        model.fit")
    assert reported(text.replace("  # error: TPU702", ""), tmp_path, ["TPU702"]) == []


def test_a_script_of_several_that_forgets_its_strategy(tmp_path: Path) -> None:
    assert reported(SCRIPTS, tmp_path, ["TPU702"]) == expected(SCRIPTS, ["TPU702"])


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_certainty_is_the_marked_one(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU702"]) == expected(text, ["TPU702"])


# What a notebook records of the kernel that ran it last. TensorFlow 2.16, the first with Keras 3,
# needs Python 3.9.
# The Python that ran a notebook, what it printed, and the number of findings.
NOTEBOOKS = [
    ("3.6.6", "", 0),
    ("3.8.10", "", 0),
    ("3.9.18", "", 1),
    ("3.10.12", "", 1),
    ("", "", 1),
    ("3.10.13", "Tensorflow version 2.15.0", 0),
    ("3.10.12", "TF version:  2.7.0", 0),
    ("3.10.12", "tf.__version__ is 2.2.0", 0),
    ("3.10.12", "Tensorflow version 2.16.1", 1),
    ("3.10.12", "Torch version 2.1.0", 1),
    ("3.10.12", "2.7.0", 0),
    ("", "1.15.2", 0),
    ("3.10.12", "2.18.0", 1),
]


@pytest.mark.parametrize(("python", "printed", "count"), NOTEBOOKS)
def test_a_notebook_that_keras_2_has_run_is_silent(
    python: str, printed: str, count: int, tmp_path: Path
) -> None:
    text = (
        SYSTEM
        + f"""
print(tf.__version__)
with strategy.scope():
    model = {NET}
model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8, 1]))
"""
    )
    info = {"codemirror_mode": {"name": "ipython", "version": 3}, "name": "python"}
    if python:
        info["version"] = python
    output = {"name": "stdout", "output_type": "stream", "text": [f"{printed}\n"]}
    cell = {"cell_type": "code", "metadata": {}, "outputs": [output], "source": text, "id": "1"}
    metadata = {"language_info": info}
    notebook = {"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    config = Config(root=str(tmp_path), certainty=Certainty.POSSIBLE, jobs=1)
    request = driver.Request(config, frozenset(["TPU702"]), (str(tmp_path),))
    assert len(driver.check(driver.discover(request)).findings) == count


COLAB = """{{"cells": [
{{"cell_type": "code", "source": ["import tensorflow as tf\\n", "print({printed}.__version__)"],
  "outputs": [{{"name": "stdout", "output_type": "stream", "text": ["2.7.0\\n"]}}]}},
{{"cell_type": "code", "source": ["print(tf.__version__)"], "outputs": []}}]}}"""


@pytest.mark.parametrize(("printed", "last"), [("tf", "2.7"), ("np", None)])
def test_the_release_of_a_notebook_is_printed_in_the_cell_that_asks(
    printed: str, last: str | None
) -> None:
    """Colab writes the source before its outputs; another cell may print another version."""
    assert last_for(COLAB.format(printed=printed).encode()) == last


@pytest.mark.parametrize(("method", "count"), [("run", 1), ("experimental_run_v2", 0)])
def test_an_optimizer_of_a_release_before_keras_3(method: str, count: int, tmp_path: Path) -> None:
    text = (
        SYSTEM
        + f"""
with strategy.scope():
    model = {NET}
optimizer = tf.keras.optimizers.Adam(1e-3)

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x)) / 8.0
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

@tf.function
def train(x):
    strategy.{method}(step, args=(x,))

train(tf.ones([8, 4]))
model.predict(tf.ones([8, 4]))
"""
    )
    (tmp_path / "train.py").write_text(text)
    config = Config(root=str(tmp_path), certainty=Certainty.POSSIBLE, jobs=1)
    request = driver.Request(config, frozenset(["TPU702"]), (str(tmp_path),))
    assert len(driver.check(driver.discover(request)).findings) == count
