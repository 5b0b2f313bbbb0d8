"""TPU702: parts of a model that is compiled under a scope, created outside it.

A mark in a program is the finding that is expected there, with its certainty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import SYSTEM

COMPILED = """
with strategy.scope():
    model = tf.keras.Sequential([backbone, tf.keras.layers.Dense(10)])
    model.compile("adam", "mse")
"""
RESNET = 'tf.keras.applications.ResNet50(weights="imagenet", include_top=False)'
PROGRAMS = {
    "a backbone with its weights": f"\nbackbone = {RESNET}  # error: TPU702\n" + COMPILED,
    "a backbone that is frozen": f"""
backbone = {RESNET}  # possible: TPU702
backbone.trainable = False
"""
    + COMPILED,
    "a layer of TensorFlow Hub": """
import tensorflow_hub as hub

backbone = hub.KerasLayer("https://tfhub.dev/google/x/1", trainable=True)  # error: TPU702
"""
    + COMPILED,
    "a layer of TensorFlow Hub that is frozen by default": """
import tensorflow_hub as hub

backbone = hub.KerasLayer("https://tfhub.dev/google/x/1")  # possible: TPU702
"""
    + COMPILED,
    "a false alarm: a layer of TensorFlow Hub that prepares text": """
import tensorflow_hub as hub

backbone = hub.KerasLayer("gs://tfhub-modules/tensorflow/bert_en_cased_preprocess/3")
"""
    + COMPILED,
    "a saved model": """
backbone = tf.keras.models.load_model("gs://bucket/model")  # error: TPU702
"""
    + COMPILED,
    "a model that knows its input": """
backbone = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])  # error: TPU702
"""
    + COMPILED,
    "a model that is built when it is called": """
backbone = tf.keras.Sequential([tf.keras.layers.Dense(2)])
"""
    + COMPILED,
    "layers without weights": """
backbone = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Rescaling(1 / 255)])
"""
    + COMPILED,
    "a layer that is not built": "\nbackbone = tf.keras.layers.Dense(2)\n" + COMPILED,
    "a missed alarm: a backbone of a model that is compiled after the scope": f"""
backbone = {RESNET}  # error: TPU702
with strategy.scope():
    inputs = tf.keras.Input([224, 224, 3])
    outputs = tf.keras.layers.Dense(10)(backbone(inputs))
    model = tf.keras.Model(inputs, outputs)
model.compile("sgd", "mse")
model.fit(tf.ones([8, 224, 224, 3]), tf.ones([8, 10]))
""",
    "a missed alarm: a backbone with weights of a hub": """
import transformers

backbone = transformers.TFAutoModel.from_pretrained("gpt2")  # error: TPU702
with strategy.scope():
    words = tf.keras.Input([192], dtype="int32")
    outputs = tf.keras.layers.Dense(1)(backbone(words)[0][:, 0, :])
    model = tf.keras.Model(words, outputs)
    model.compile("adam", "mse")
""",
    "the settings of a hub": """
import transformers

config = transformers.AutoConfig.from_pretrained("gpt2")
with strategy.scope():
    backbone = transformers.TFAutoModel.from_config(config)
    words = tf.keras.Input([192], dtype="int32")
    model = tf.keras.Model(words, tf.keras.layers.Dense(1)(backbone(words)[0][:, 0, :]))
    model.compile("adam", "mse")
""",
    "false alarm: what a model is told that it shows after the scope": """
import library

data = library.create("gs://bucket")
with strategy.scope():
    model = tf.keras.Sequential([library.Net(classes=data["classes"])])
    model.compile("adam", "mse")
model.summary()
""",
    "a backbone of the scope": f"""
with strategy.scope():
    backbone = {RESNET}
"""
    + COMPILED,
    "a backbone of a functional model": f"""
backbone = {RESNET}  # error: TPU702
with strategy.scope():
    inputs = tf.keras.Input([224, 224, 3])
    outputs = tf.keras.layers.Dense(10)(backbone(inputs))
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "mse")
""",
    "a backbone in a class of the project": f"""
class Net(tf.keras.Model):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def call(self, x):
        return self.backbone(x)

backbone = {RESNET}  # possible: TPU702
with strategy.scope():
    model = Net(backbone)
    model.compile("adam", "mse")
""",
    "a class that is not seen, whose object is built": """
import library

backbone = library.Backbone()  # possible: TPU702
library.Classifier(backbone, 600).build([1, 224, 224, 3])
with strategy.scope():
    model = library.Classifier(backbone, 10)
    model.compile("adam", "mse")
""",
    # A false positive in a project whose helper for its data was taken for a layer.
    "what a module of the project gives that was passed by": """
import library
from . import data

rows = data.create("flowers")
library.Classifier(rows, 600).build([1, 224, 224, 3])
with strategy.scope():
    model = library.Classifier(rows, 10)
    model.compile("adam", "mse")
""",
    "a class that is not seen": """
import library

backbone = library.Backbone()
with strategy.scope():
    model = library.Classifier(backbone, 10)
    model.build([1, 224, 224, 3])
    model.compile("adam", "mse")
""",
    "a layer that is called outside to put a model together": """
inputs = tf.keras.Input([4])
outputs = tf.keras.layers.Dense(10)(inputs)  # error: TPU702
with strategy.scope():
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "mse")
""",
    "a model whose ends another one takes": """
def build():
    inputs = tf.keras.Input([4])
    return tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))

body = build()  # error: TPU702
with strategy.scope():
    model = tf.keras.Model(body.input, tf.keras.layers.Dense(1)(body.output))
    model.compile("adam", "mse")
""",
    "a model whose ends a class of another package takes": """
from attacks import Robust

inputs = tf.keras.Input([4])
body = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))  # possible: TPU702
with strategy.scope():
    model = Robust(body.input, body.output)
    model.compile(optimizer="adam", loss="mse")
""",
    "a layer that may be frozen": """
inputs = tf.keras.Input([4])
body = tf.keras.layers.Dense(4)(inputs)  # possible: TPU702
with strategy.scope():
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(body))
    model.layers[1].trainable = False
    model.compile("adam", "mse")
""",
    "no fault: layers without weights, and one that the scope calls first": """
inputs = tf.keras.Input([4])
scaled = tf.keras.layers.Rescaling(0.5)(inputs)
dense = tf.keras.layers.Dense(10)
with strategy.scope():
    model = tf.keras.Model(inputs, dense(scaled))
    model.compile("adam", "mse")
""",
    "a false alarm: a model that is cloned under the scope": """
inputs = tf.keras.Input([4])
body = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))
with strategy.scope():
    model = tf.keras.models.clone_model(body)
    model.compile("adam", "mse")
""",
    "a false alarm: a number that an object of a package gives": """
import sentencepiece

class Net(tf.keras.Model):
    def __init__(self, words):
        super().__init__()
        self.words = tf.keras.layers.Embedding(words, 8)

    def call(self, x):
        return self.words(x)

words = sentencepiece.SentencePieceProcessor("words.model").get_piece_size()
shown = Net(words)
shown.build([1, 4])
with strategy.scope():
    model = Net(words)
    model.compile("adam", "mse")
""",
    "a false alarm: layers of a backbone of the scope, taken outside": f"""
with strategy.scope():
    base = {RESNET}
middle = base.get_layer("conv4_block6_out").output
last = base.layers[-2].output
with strategy.scope():
    sides = tf.keras.layers.Dense(1)(middle) + tf.keras.layers.Dense(1)(last)
    model = tf.keras.Model(base.input, sides)
    model.compile("adam", "mse")
""",
    "layers of a backbone that is made outside": f"""
base = {RESNET}  # error: TPU702
middle = base.get_layer("conv4_block6_out").output
with strategy.scope():
    model = tf.keras.Model(base.input, tf.keras.layers.Dense(1)(middle))
    model.compile("adam", "mse")
""",
    "a model of each fold, with a backbone of the scope": f"""
def build(backbone):
    images = tf.keras.Input([224, 224, 3])
    model = tf.keras.Model(images, tf.keras.layers.Dense(10)(backbone(images)))
    model.compile("sgd", "mse")
    return model

with strategy.scope():
    backbone = {RESNET}
    model = build(backbone)
for fold in range(3):
    model = build(backbone)  # error: TPU702
    model.fit(tf.ones([8, 224, 224, 3]), tf.ones([8, 10]))
""",
    "a small model beside the one of the scope": f"""
with strategy.scope():
    backbone = {RESNET}
    model = tf.keras.Sequential([backbone, tf.keras.layers.Dense(10)])
    model.compile("adam", "mse")
small = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])  # possible: TPU702
small.compile("sgd", "mse")
small.fit(tf.ones([8, 4]), tf.ones([8, 1]))
""",
    "a backbone of a package that copies those of Keras": """
import efficientnet.tfkeras as efn

backbone = efn.EfficientNetB0(weights="imagenet", include_top=False)  # error: TPU702
"""
    + COMPILED,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_parts_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(SYSTEM + text, tmp_path, ["TPU702"]) == expected(SYSTEM + text, ["TPU702"])
