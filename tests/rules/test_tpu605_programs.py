"""Programs with TPU605, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, INPUT_FN, NETWORK, REMOTE, STRATEGY, V1

TRAIN_ESTIMATOR = ESTIMATOR + "\nestimator.train(input_fn, max_steps=1)\n"
PROGRAMS = {
    "missed alarms: input functions beside a model_fn, which nothing calls": V1
    + """
def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

def input_fn_builder(files, is_training, drop_remainder):
    def input_fn(params):
        data = tf.data.TFRecordDataset(files)
        if is_training:
            data = data.repeat()
        return data.batch(params["batch_size"])  # possible: TPU605
    def as_told(params):
        data = tf.data.TFRecordDataset(files)
        return data.batch(params["batch_size"], drop_remainder=drop_remainder)
    return input_fn if is_training else as_told

class Builder:
    @staticmethod
    def get_input_fn(file):
        def input_fn(params):
            data = tf.data.TFRecordDataset(file).repeat()
            return data.batch(params["batch_size"])  # possible: TPU605
        return input_fn

def predict_input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/rows").batch(params["batch_size"])

def input_fn_of_cpu(batch_size):
    return lambda: tf.data.TFRecordDataset("rows").batch(batch_size)
""",
    # False alarms in two projects: to drop records would be wrong.
    "loops that score and evaluate, and one that trains": STRATEGY
    + """
import library

def score(model, rows):
    batches = strategy.experimental_distribute_dataset(rows.batch(8))
    step = tf.function(lambda batch: model(batch, training=False))
    return [strategy.run(step, args=(each,)) for each in batches]

class Evaluation:
    def __init__(self, model, batches):
        self.model, self.batches = model, batches

    @tf.function
    def step(self, batch):
        library.metric.update_state(self.model(batch))

    def run(self):
        for each in self.batches:
            strategy.run(self.step, args=(each,))

def evaluate(model):
    rows = tf.data.TFRecordDataset("gs://bucket/test").batch(8)
    Evaluation(model, strategy.experimental_distribute_dataset(rows)).run()

def train(model, optimizer):
    rows = tf.data.TFRecordDataset("gs://bucket/train").batch(8)  # unlikely: TPU605
    batches = strategy.experimental_distribute_dataset(rows)

    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = model(batch)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

    for each in batches:
        strategy.run(step, args=(each,))

def main():
    with strategy.scope():
        model, optimizer = library.model(), tf.keras.optimizers.Adam()
    train(model, optimizer)
    evaluate(model)
    score(model, tf.data.TFRecordDataset("gs://bucket/all"))
""",
    "a step that trains by a plain mean, and one that scales by the batch": STRATEGY
    + """
import library

with strategy.scope():
    optimizer = tf.keras.optimizers.Adam()
    model = library.model()

def update(loss):
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tf.gradients(loss, weights), weights))

def plain():
    rows = tf.data.TFRecordDataset("gs://bucket/train").batch(8)  # possible: TPU605
    @tf.function
    def step(each):
        strategy.run(lambda x: update(tf.reduce_mean(model(x))), (each,))

    for each in strategy.experimental_distribute_dataset(rows):
        step(each)

def scaled():
    rows = tf.data.TFRecordDataset("gs://bucket/train").batch(8)  # unlikely: TPU605
    loss = lambda x: tf.nn.compute_average_loss(model(x), global_batch_size=8)

    @tf.function
    def step(each):
        strategy.run(lambda x: update(loss(x)), (each,))

    for each in strategy.experimental_distribute_dataset(rows):
        step(each)

plain()
scaled()
""",
    "a file that drops other remainders": STRATEGY
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(tf.data.TFRecordDataset("gs://bucket/a").batch(8, drop_remainder=True))
model.fit(tf.data.TFRecordDataset("gs://bucket/b").batch(8))  # possible: TPU605
""",
    "datasets of tensorflow_datasets": STRATEGY
    + """
import tensorflow_datasets as tfds

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

one, other = tfds.load("mnist", split=["train", "test"], as_supervised=True)
model.fit(one.batch(8))  # unlikely: TPU605
(named, rest), info = tfds.load("mnist", split=("train", "test"), with_info=True)
model.fit(rest.shuffle(info.splits["test"].num_examples).batch(8))  # unlikely: TPU605
splits, about = tfds.load(name="mnist", with_info=True)
model.fit(splits["train"].batch(8))  # unlikely: TPU605
builder = tfds.builder("mnist")
first, second = builder.as_dataset(split=["train", "test"])
model.fit(second.batch(8))  # unlikely: TPU605
model.fit(tfds.load("mnist", split="train").batch(8))  # unlikely: TPU605
model.fit(tfds.load("mnist", split="train", batch_size=8))
model.fit(first)
""",
    "pipelines of one estimator, of which one was forgotten": NETWORK
    + """
def input_fn(params):
    if params["kind"] == 0:
        return tf.data.TFRecordDataset("gs://bucket/a").batch(params["batch_size"], True)
    elif params["kind"] == 1:
        rows = tf.data.TFRecordDataset("gs://bucket/b")
        return rows.batch(params["batch_size"])  # possible: TPU605
    dataset = tf.data.TFRecordDataset("gs://bucket/c")
    if params["fixed"]:
        return dataset.batch(params["batch_size"], True)
    return dataset.batch(params["batch_size"])

def on_tpu_only(params):
    if params["use_tpu"]:
        return tf.data.TFRecordDataset("gs://bucket/a").batch(params["batch_size"], True)
    return tf.data.TFRecordDataset("gs://bucket/b").batch(params["batch_size"])

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
)
estimator.train(input_fn, max_steps=1)
estimator.train(on_tpu_only, max_steps=1)
""",
    "a GAN's estimator": NETWORK
    + """
import tensorflow_gan as tfgan

def generator(noise, mode):
    return tf.layers.dense(tf.py_func(abs, [noise], tf.float32), 10)  # error: TPU501

def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/a").batch(params["batch_size"])  # error: TPU605

def on_cpu(params):
    return tf.data.TFRecordDataset("gs://bucket/a").batch(params["batch_size"])

def estimator(use_tpu):
    return tfgan.estimator.TPUGANEstimator(
        generator,
        discriminator_fn=lambda data, conditioning, mode: tf.layers.dense(data, 1),
        generator_optimizer=tf.train.AdamOptimizer(),
        train_batch_size=8,
        use_tpu=use_tpu,
        config=tf.estimator.tpu.RunConfig(),
    )

estimator(True).train(input_fn, max_steps=1)
estimator(False).train(on_cpu, max_steps=1)
""",
    "a step that is not seen": STRATEGY
    + """
import library

def main():
    rows = tf.data.TFRecordDataset("gs://bucket/train").batch(8)  # unlikely: TPU605
    for each in strategy.experimental_distribute_dataset(rows):
        strategy.run(library.train_on, args=(each,))
""",
    # A harmless finding in a sandbox.
    "rows that fill every batch, and rows that do not": STRATEGY
    + """
import library

def batches(rows, size):
    dataset = tf.data.Dataset.from_tensor_slices((rows, tf.constant([1, 0, 0, 1])))
    return dataset.map(library.read).cache().shuffle(4).batch(size)

def more(rows, size):
    dataset = tf.data.Dataset.from_tensor_slices((rows, tf.constant([1, 0, 0, 1])))
    return dataset.filter(library.wanted).batch(size)  # unlikely: TPU605

def uneven(rows, size):
    dataset = tf.data.Dataset.from_tensor_slices((rows, tf.constant([1, 0, 0, 1])))
    return dataset.batch(size)  # unlikely: TPU605

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(batches(tf.constant([[1.0], [2.0], [3.0], [4.0]]), 2))
model.fit(more(tf.constant([[1.0], [2.0], [3.0], [4.0]]), 2))
model.fit(uneven(tf.constant([[1.0], [2.0], [3.0], [4.0]]), 3))
""",
    "sparse features that go to a TPU embedding have no static shape": NETWORK
    + """
from network import embedding

def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(params["batch_size"])

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,
    use_tpu=True,
    train_batch_size=64,
    embedding_config_spec=embedding,
    config=tf.estimator.tpu.RunConfig(),
)
estimator.train(input_fn, max_steps=1)
""",
    "batches that are taken apart again, and batches of windows": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x").batch(1000).map(tf.io.decode_raw).unbatch()
    dataset = dataset.window(8).flat_map(lambda window: window.batch(8))
    return dataset.repeat().batch(params["batch_size"], True)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a batch that every way ends with, over datasets that are joined": NETWORK
    + """
def input_fn(params):
    left = tf.data.TFRecordDataset("gs://bucket/left").repeat()
    right = tf.data.TFRecordDataset("gs://bucket/right").repeat()
    if params["both"]:
        dataset = tf.data.Dataset.zip((left, right))
    else:
        dataset = tf.data.experimental.sample_from_datasets([left, right])
    return dataset.batch(params["batch_size"], drop_remainder=params["drop"])
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a strategy that a flag chooses may be no TPU's": """
import tensorflow as tf

def train(strategy, dataset):
    return strategy.experimental_distribute_dataset(dataset.batch(64))

def main(kind):
    strategy = tf.distribute.MirroredStrategy()
    return train(strategy, tf.data.Dataset.from_generator(lambda: [1.0], tf.float32))
""",
    "a step over an iterator, as TensorFlow 1 returned it": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    dataset = dataset.batch(params["batch_size"])  # error: TPU605
    iterator = dataset.make_one_shot_iterator()
    features, labels = iterator.get_next()
    return {"x": features}, labels
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "steps that are set again in branches and in a loop": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x")
    if params["shuffle"]:
        dataset = dataset.shuffle(100)
    if params["repeat"]:
        dataset = dataset.repeat()
    if params["cache"]:
        dataset = dataset.cache()
    for function in params["functions"]:
        dataset = dataset.map(function)
    dataset = dataset.batch(params["batch_size"], False)  # error: TPU605
    options = tf.data.Options()
    return dataset.with_options(options).prefetch(2)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "an object of another module, whose method is the input_fn": """
# file: project/reading.py
import tensorflow.compat.v1 as tf


class ImageInput:
    def __init__(self, pattern, is_training):
        self.pattern = pattern
        self.is_training = is_training

    def dataset(self):
        files = tf.data.Dataset.list_files(self.pattern, shuffle=self.is_training)
        return files.interleave(tf.data.TFRecordDataset, cycle_length=4)

    def input_fn(self, params):
        dataset = self.dataset()
        if self.is_training:
            return dataset.repeat().batch(params["batch_size"], drop_remainder=True)
        return dataset.batch(params["batch_size"])  # error: TPU605


# file: train.py
import tensorflow.compat.v1 as tf

from network import model_fn
from project import reading

train, test = [
    reading.ImageInput(pattern="gs://bucket/x", is_training=is_training)
    for is_training in [True, False]
]
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,
    train_batch_size=64,
    eval_batch_size=64,
    config=tf.estimator.tpu.RunConfig(),
)
estimator.train(input_fn=train.input_fn, max_steps=1)
estimator.evaluate(input_fn=test.input_fn, steps=1)
""",
    "a dataset of a helper that is applied, for a strategy": "import tensorflow as tf\n"
    + REMOTE
    + """
def batched(size):
    def apply(dataset):
        return dataset.batch(size).prefetch(2)  # unlikely: TPU605
    return apply

def dataset_fn(context):
    return tf.data.Dataset.range(100).apply(batched(8))

batches = strategy.distribute_datasets_from_function(dataset_fn)
""",
    "batches of which some are not seen, or keep no remainder": INPUT_FN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8) if more else library.batches(rows)  # possible: TPU605
"""
    + TRAIN_ESTIMATOR,
    "batches of which one way drops the remainder": INPUT_FN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8) if more else rows.batch(8, True)
"""
    + TRAIN_ESTIMATOR,
    "batches of which no way drops the remainder": INPUT_FN
    + """
def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    if more:
        return rows.batch(8)  # error: TPU605
    return rows.batch(9)  # error: TPU605
"""
    + TRAIN_ESTIMATOR,
    "a shape that is set by hand": INPUT_FN
    + """
def shaped(rows):
    rows.set_shape([8, 4])
    return rows

def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8).map(shaped)
"""
    + TRAIN_ESTIMATOR,
    "a shape that is set by hand where all batches are whole": INPUT_FN
    + """
def set_size(row):
    row.set_shape([64, 8])
    return row

def input_fn(params, repeat=library.REPEAT):
    rows = library.rows(params).repeat(repeat).batch(params["batch_size"])
    if repeat is None:
        rows = rows.map(set_size)
    return rows.prefetch(1)
"""
    + TRAIN_ESTIMATOR,
    "a shape that is set by hand, of a last batch that is smaller": INPUT_FN
    + """
def shaped(rows):
    rows.set_shape([8, 4])
    return rows

def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.batch(8).repeat().map(shaped)  # possible: TPU605

def endless(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.shuffle(9).repeat().batch(8).map(shaped)

def padded(params):
    def filled(rows):
        missing = 8 - tf.shape(rows)[0]
        return shaped(tf.pad(rows, [[0, missing], [0, 0]]))

    return tf.data.TFRecordDataset("gs://bucket/x").batch(8).repeat().map(filled)
"""
    + TRAIN_ESTIMATOR
    + """
estimator.train(endless, max_steps=1)
estimator.train(padded, max_steps=1)
""",
    "an input function among what a module without a TPU word gives": """
# file: reading.py
import tensorflow.compat.v1 as tf


def reader(pattern):
    def input_fn(params):
        rows = tf.data.TFRecordDataset(pattern).repeat()
        return rows.batch(params["batch_size"])  # error: TPU605

    def even(params):
        return tf.data.TFRecordDataset(pattern).repeat().batch(params["batch_size"], True)

    return input_fn, even


class Reader:
    def __init__(self, pattern):
        self.pattern = pattern

    def prepare(self):
        def input_fn(params):
            rows = tf.data.TFRecordDataset(self.pattern).repeat()
            return rows.batch(params["batch_size"])  # error: TPU605

        return {"reader": input_fn, "steps": 10}

    def even(self):
        return lambda params: tf.data.TFRecordDataset(self.pattern).repeat().batch(8, True)


# file: train.py
import tensorflow.compat.v1 as tf

from network import model_fn
from reading import Reader, reader

first, even = reader("gs://bucket/x")
second = Reader("gs://bucket/y")
prepared = second.prepare()
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,
    train_batch_size=64,
    config=tf.estimator.tpu.RunConfig(),
)
estimator.train(first, max_steps=1)
estimator.train(even, max_steps=1)
estimator.train(prepared["reader"], max_steps=1)
estimator.train(second.even(), max_steps=1)
""",
    "a TPUEstimator or another one, trained by `train_and_evaluate`": NETWORK
    + """
def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").batch(params["batch_size"])  # error: TPU605

def even(params):
    return tf.data.TFRecordDataset("gs://bucket/x").batch(params["batch_size"], True)

def main(use_tpu):
    if use_tpu:
        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(
            model_fn, train_batch_size=64, eval_batch_size=8, config=config
        )
    else:
        estimator = tf.estimator.Estimator(model_fn, params={"batch_size": 64})
    training = tf.estimator.TrainSpec(input_fn, max_steps=1)
    tf.estimator.train_and_evaluate(estimator, training, tf.estimator.EvalSpec(even, steps=1))
""",
    "a helper that makes either Estimator, and a model_fn for no TPU": """
# file: helper.py
import tensorflow.compat.v1 as tf


def run(model_fn, input_fn, flags):
    if flags.accelerated:
        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(
            model_fn, train_batch_size=64, eval_batch_size=8, config=config
        )
    else:
        estimator = tf.estimator.Estimator(model_fn, params={"batch_size": 64})
    training = tf.estimator.TrainSpec(input_fn, max_steps=1)
    tf.estimator.train_and_evaluate(estimator, training, tf.estimator.EvalSpec(input_fn))


# file: experiment.py
import functools

import tensorflow.compat.v1 as tf

import helper
import library


def model_fn(features, labels, mode, size):
    loss = tf.reduce_mean(tf.layers.dense(features, size))
    train_op = tf.train.AdamOptimizer().minimize(loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").batch(params["batch_size"])


def parts():
    return functools.partial(model_fn, size=2), input_fn


model, rows = parts()
helper.run(model, rows, library.flags)
""",
    "shapes that are set by hand before there are batches": INPUT_FN
    + """
import numpy as np

def shaped(row):
    return tf.reshape(row, [4])

def input_fn(params):
    rows = np.load("rows.npy").reshape(100, 4)
    dataset = tf.data.Dataset.from_tensor_slices(rows).map(shaped)
    return dataset.batch(8).repeat()  # error: TPU605
"""
    + TRAIN_ESTIMATOR,
    "a shape that is set by hand, for a strategy": "import tensorflow as tf\n"
    + REMOTE
    + """
def shaped(row):
    return tf.reshape(row, [4])

def dataset_fn(context):
    return tf.data.Dataset.range(100).map(shaped).batch(8)  # unlikely: TPU605

batches = strategy.distribute_datasets_from_function(dataset_fn)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
