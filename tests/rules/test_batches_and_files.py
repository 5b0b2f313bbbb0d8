"""Pipelines that fail on the host of a TPU, or have batches of no size, certainly or possibly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import ESTIMATOR, NETWORK, REMOTE

FAMILIES = ["TPU605", "TPU607"]
BEGIN = (
    NETWORK
    + """
import library
import sys

more = len(sys.argv) > 1
"""
)
TRAIN = ESTIMATOR + "\nestimator.train(input_fn, max_steps=1)\n"
ON_ANOTHER_MACHINE = """
cluster = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.240.1.2:8470")
config = tf.estimator.tpu.RunConfig(cluster=cluster)
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn, max_steps=1)
"""

PROGRAMS = {
    "batches of which some are not seen, or keep no remainder": BEGIN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8) if more else library.batches(rows)  # possible: TPU605
"""
    + TRAIN,
    "batches of which one way drops the remainder": BEGIN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8) if more else rows.batch(8, True)
"""
    + TRAIN,
    "batches of which no way drops the remainder": BEGIN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    if more:
        return rows.batch(8)  # error: TPU605
    return rows.batch(9)  # error: TPU605
"""
    + TRAIN,
    "a shape that is set by hand": BEGIN
    + """
def shaped(rows):
    rows.set_shape([8, 4])
    return rows

def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").batch(8).map(shaped)
"""
    + TRAIN,
    "a shape that is set by hand, for a strategy": "import tensorflow as tf\n"
    + REMOTE
    + """
def shaped(row):
    return tf.reshape(row, [4])

def dataset_fn(context):
    return tf.data.Dataset.range(100).map(shaped).batch(8)  # possible: TPU605

batches = strategy.distribute_datasets_from_function(dataset_fn)
""",
    "files and Python of pipelines that feed no TPU": BEGIN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)

shown = tf.data.TextLineDataset("/content/shown.txt").map(parse)

def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "files and Python of the pipeline of another machine": BEGIN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)  # error: TPU607

def input_fn(params):
    rows = tf.data.TextLineDataset(["gs://bucket/x", "/content/x.txt"])  # error: TPU607
    return rows.map(parse).batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "what has the names of readers, tables and generators": BEGIN
    + """
words = library.Words("/content/words.txt")
images = library.Images()
augmented = tf.keras.preprocessing.image.ImageDataGenerator()
augmented.fit(library.samples())

def parse(line):
    return words.lookup(line), images.flow(line), augmented.standardize(line)

def input_fn(params):
    tf.data.TextLineDataset()
    rows = tf.data.TextLineDataset(*library.names())
    tf.io.gfile.exists("/content/x.txt")
    return rows.map(parse).batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "tables and generators of a strategy on another machine": """
import tensorflow as tf

import library
"""
    + REMOTE
    + """
table = tf.lookup.StaticHashTable(library.pairs(), -1)
words = library.Words("/content/words.txt")
counter = tf.Variable(0)
augmented = tf.keras.preprocessing.image.ImageDataGenerator()

def parse(line):
    for _ in library.rounds():
        line = table.lookup(line)  # error: TPU607
    return words.lookup(line) + counter.assign_add(1)

rows = tf.data.TextLineDataset("gs://bucket/x").map(parse)
strategy.experimental_distribute_dataset(rows.batch(8, drop_remainder=True))
augmented.standardize(library.samples())
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(augmented.flow(library.samples()), epochs=2)  # error: TPU607
""",
    "folders of checkpoints": BEGIN
    + """
cluster = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.240.1.2:8470")
there = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="gs://bucket/model")
here = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="/content/model")  # error: TPU607
unused = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="/content/unused")
local = tf.estimator.tpu.RunConfig(model_dir="/content/model")
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=there)
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=here)
tf.estimator.tpu.TPUEstimator(model_fn, "gs://bucket/model", config=unused)
tf.estimator.tpu.TPUEstimator(model_fn, "/content/other", config=there)  # error: TPU607
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=local)
tf.estimator.tpu.TPUEstimator(model_fn, "/content/other", config=there, use_tpu=False)
""",
    "functions of a pipeline that may be called": BEGIN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)  # possible: TPU607

def plain(line):
    return line

def input_fn(params):
    rows = tf.data.TextLineDataset("gs://bucket/x")
    return rows.map(parse if more else plain).batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
