"""Embeddings on a TPU: where they are made and called, and the certainty of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import SYSTEM

OPENING = (
    SYSTEM
    + """
tpu_embedding = tf.tpu.experimental.embedding

def make():
    return tpu_embedding.TPUEmbedding(feature_config=None, optimizer=None)
"""
)
MADE = """
with strategy.scope():
    embedding = make()
"""
BATCHES = (
    OPENING
    + MADE
    + """
dataset = tf.data.Dataset.from_tensor_slices(tf.zeros([64], tf.int32)).batch(16, True)
distributed = strategy.experimental_distribute_dataset(dataset)
iterator = iter(distributed)

@tf.function
def train():
    embedding.enqueue(next(iterator), training=True)  # error: TPU709
    strategy.run(lambda: embedding.dequeue())

train()
"""
)
OPTIONS = "tf.distribute.InputOptions(experimental_fetch_to_device="
PROGRAMS = {
    "a batch of a dataset that is sent to the TPU": BATCHES,
    "a batch that stays on the host": BATCHES.replace(
        "_dataset(dataset)", f"_dataset(dataset, {OPTIONS}False))"
    ).replace("  # error: TPU709", ""),
    "a batch that is sent to the TPU by option": BATCHES.replace(
        "_dataset(dataset)", f"_dataset(dataset, options={OPTIONS}True))"
    ),
    "an option that is not seen": BATCHES.replace(
        "_dataset(dataset)", f"_dataset(dataset, {OPTIONS}tf.config.list_logical_devices()))"
    ).replace("  # error: TPU709", ""),
    "an iterator among the arguments, of which TensorFlow knows no place": BATCHES.replace(
        "train()", "train(iterator)"
    )
    .replace("train(iterator)\n", "train(iter(distributed))\n")
    .replace("  # error: TPU709", ""),
    "a batch among the arguments": BATCHES.replace("def train()", "def train(batch)")
    .replace("next(iterator)", "batch")
    .replace("\ntrain()\n", "\ntrain(next(iterator))\n")
    .replace("  # error: TPU709", ""),
    "a loop over the dataset": BATCHES.replace(
        "    embedding.enqueue(next(iterator), training=True)  # error: TPU709\n",
        "    for batch in distributed:\n        embedding.enqueue(batch, training=True)\n",
    ),
    "a batch that the step enqueues": BATCHES.replace(
        """    embedding.enqueue(next(iterator), training=True)  # error: TPU709
    strategy.run(lambda: embedding.dequeue())
""",
        """    strategy.run(step, args=(next(iterator),))

def step(batch):
    embedding.enqueue(batch)  # error: TPU709
    embedding.dequeue()
""",
    ),
    "features of a method's own iterator": OPENING
    + MADE
    + """
class Trainer:
    def __init__(self, dataset):
        distributed = strategy.distribute_datasets_from_function(lambda _: dataset)
        self.iterator = iter(distributed)

    @tf.function
    def train(self):
        for _ in tf.range(4):
            features, labels = next(self.iterator)
            embedding.enqueue(features)  # error: TPU709
            strategy.run(lambda: embedding.dequeue())

Trainer(tf.data.Dataset.from_tensors((tf.zeros([8], tf.int32), tf.zeros([8])))).train()
""",
    "a scope that is entered by hand": OPENING
    + """
strategy.scope().__enter__()
embedding = make()
embedding.enqueue(tf.zeros([8], tf.int32))
""",
    "the scope of another strategy": (OPENING + MADE).replace("TPUStrategy", "MirroredStrategy")
    + """
def feed(features):
    embedding.enqueue(features)
""",
    "classes of initializers, and objects": OPENING
    + """
tpu_embedding.TableConfig(64, 8, tf.initializers.TruncatedNormal)  # error: TPU709
tpu_embedding.TableConfig(64, 8, initializer=tf.zeros_initializer)  # error: TPU709
tpu_embedding.TableConfig(64, 8, initializer=tf.keras.initializers.HeNormal)  # error: TPU709
tpu_embedding.TableConfig(64, 8, initializer=tf.initializers.TruncatedNormal(stddev=0.1))
tpu_embedding.TableConfig(64, 8, initializer=lambda shape, dtype: tf.zeros(shape, dtype))
tpu_embedding.TableConfig(64, 8, initializer=tf.zeros)
""",
    "an object that nothing calls": OPENING + "\nembedding = make()\n",
    "a function that a step may call": OPENING
    + MADE
    + """
def read():
    strategy.run(lambda: tf.zeros([8]))
    return embedding.dequeue()
""",
    "features that are only put into another structure": OPENING
    + MADE
    + """
def step(features):
    embedding.enqueue(tf.nest.flatten(features))

@tf.function
def train(features):
    strategy.run(step, args=(features,))

train(tf.zeros([8], tf.int32))
""",
    "a layer of a library": SYSTEM
    + """
import tensorflow_recommenders as tfrs

embedding = tfrs.layers.embedding.TPUEmbedding(None, None)
embedding.enqueue(tf.zeros([8], tf.int32))
""",
    "the inputs of a functional model": SYSTEM
    + """
class Lookup(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = tf.tpu.experimental.embedding.TPUEmbedding(None, None)

    def call(self, features):
        self.embedding.enqueue(features)
        return self.embedding.dequeue()

with strategy.scope():
    inputs = {"a": tf.keras.Input(()), "b": tf.keras.Input(())}
    model = tf.keras.Model(inputs, Lookup()(inputs))

@tf.function
def train(a, b):
    strategy.run(model, args=({"a": a, "b": b},))

train(tf.zeros([8], tf.int32), tf.zeros([8], tf.int32))
""",
    "a loop around the feed of the host": OPENING
    + MADE
    + """
@tf.function
def train(features):
    for _ in tf.range(3):
        embedding.enqueue(features)
        strategy.run(lambda: embedding.dequeue())

train(tf.zeros([8], tf.int32))
""",
    "a tf.function in the step": OPENING
    + MADE
    + """
@tf.function
def feed(features):
    embedding.enqueue(features)  # error: TPU709

@tf.function
def train(features):
    strategy.run(feed, args=(features,))

train(tf.zeros([8], tf.int32))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_embeddings(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU709"]) == expected(text, ["TPU709"])
