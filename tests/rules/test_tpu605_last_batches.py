"""The pipeline step that makes the batches, and the size of the last batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, reported
from tests.rules.openings import ESTIMATOR as TPU_ESTIMATOR
from tests.rules.openings import INPUT_FN, SYSTEM, V1

ESTIMATOR = """
import sys
import tensorflow.compat.v1 as tf
import library
from network import model_fn

flag = len(sys.argv) > 1
data = tf.data.experimental
numbers = tf.data.Dataset.range(64)
lines = tf.data.TextLineDataset("gs://bucket/lines")

def input_fn(params):
    return {dataset}

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
)
estimator.train(input_fn)
"""
DROPS = "numbers.batch(8, True)"
# The result of an estimator's input_fn, and the certainty of the finding.
DATASETS = {
    "numbers.batch(8)": "definite",
    DROPS: None,
    "numbers.batch(8, False)": "definite",
    "numbers.batch(8, None)": "definite",
    "numbers.batch(8, drop_remainder=flag)": None,
    "numbers.batch(8, drop_remainder=True if flag else False)": None,
    "numbers.batch(8, drop_remainder=library.DROP)": None,
    "numbers.padded_batch(8, None, None, True)": None,
    "numbers.padded_batch(8, [None])": "definite",
    "numbers": None,
    "library.dataset().batch(8)": "definite",
    # Further steps leave the batch as it is, or make another.
    "numbers.batch(8).repeat().prefetch(2)": "definite",
    "numbers.batch(8).map(library.decode)": "definite",
    "numbers.batch(8).unbatch()": None,
    "numbers.batch(4).unbatch().batch(8, True)": None,
    "numbers.batch(4, True).unbatch().batch(8)": "definite",
    "numbers.batch(8).window(2)": None,
    "numbers.batch(8).concatenate(lines.batch(8, True))": "definite",
    "library.shuffled(numbers.batch(8))": None,
    "library.shuffled_dataset(numbers.batch(8))": None,
    "tf.data.TextLineDataset(lines.batch(8))": None,
    # One of two.
    "numbers.batch(8) if flag else lines.batch(4)": "definite",
    "numbers.batch(8) if flag else library.dataset()": "possible",
    f"numbers.batch(8) if flag else {DROPS}": None,
    "numbers.batch(8) if flag else library.lines()": "possible",
    "numbers.batch(8) if flag else lines.batch(8, library.DROP)": "possible",
    "numbers.batch(8) if flag else lines.apply(tf.contrib.data.batch_and_drop_remainder(8))": (
        "possible"
    ),
    # Datasets of datasets.
    "numbers.interleave(lambda n: lines.batch(8), 4)": "definite",
    "numbers.interleave(lambda n: lines.batch(8, True), 4)": None,
    "numbers.batch(8).interleave(lambda n: lines.batch(8, True), 4)": None,
    "numbers.batch(8).interleave(library.lines, 4)": None,
    "numbers.batch(8).flat_map(library.lines)": None,
    # Several datasets.
    "tf.data.Dataset.zip((numbers.batch(8), lines.batch(8)))": "definite",
    f"tf.data.Dataset.zip(({DROPS}, {DROPS}))": None,
    f"tf.data.Dataset.zip((numbers.batch(8), {DROPS}))": None,
    "tf.data.Dataset.zip((numbers.batch(8), library.lines()))": "definite",
    "tf.data.Dataset.zip((numbers, lines)).batch(8)": "definite",
    "data.sample_from_datasets([numbers.batch(8), lines.batch(8)], [0.5, 0.5])": "definite",
    "data.choose_from_datasets([numbers.batch(8), library.dataset()], numbers)": "possible",
    # Transformations that are applied.
    "numbers.apply(data.map_and_batch(tf.abs, 8))": "definite",
    "numbers.apply(data.map_and_batch(tf.abs, 8, drop_remainder=True))": None,
    "numbers.apply(tf.contrib.data.batch_and_drop_remainder(8))": None,
    "numbers.batch(8).apply(data.ignore_errors())": "definite",
    "numbers.batch(8).apply(data.shuffle_and_repeat(64))": "definite",
    f"{DROPS}.apply(data.ignore_errors())": None,
    "numbers.batch(8).apply(data.unbatch())": None,
    "numbers.batch(8).apply(data.group_by_window(tf.abs, tf.abs, 8))": None,
    "numbers.batch(8).apply(library.transformation)": None,
    "numbers.batch(8).apply(library.transformation())": None,
    "numbers.batch(8).apply()": None,
    "numbers.batch(8).apply(data.ignore_errors() if flag else data.prefetch_to_device(0))": (
        "definite"
    ),
    "numbers.batch(8).apply(data.ignore_errors() if flag else library.transformation)": "possible",
    "numbers.apply(data.map_and_batch(tf.abs, 8) if flag else library.batches)": "possible",
    # Iterators.
    "tf.data.make_one_shot_iterator(numbers.batch(8)).get_next()": "definite",
    f"tf.data.make_one_shot_iterator({DROPS}).get_next()": None,
    "numbers.batch(8).make_one_shot_iterator().get_next()": "definite",
    '{"x": tf.data.make_one_shot_iterator(numbers.batch(8)).get_next()}': "definite",
    '{"x": numbers.batch(8).make_one_shot_iterator().get_next()}': "definite",
    '{"x": numbers.batch(8).make_one_shot_iterator().get_next(),'
    ' "y": lines.batch(8).make_one_shot_iterator().get_next()}': "possible",
    f'{{"x": {DROPS}.make_one_shot_iterator().get_next(),'
    f' "y": {DROPS}.make_one_shot_iterator().get_next()}}': None,
    "tf.data.make_one_shot_iterator().get_next()": None,
    '{"x": tf.data.make_one_shot_iterator().get_next()}': None,
    "library.iterator().get_next()": None,
}
STRATEGY = """
import sys
import tensorflow as tf
import library

flag = len(sys.argv) > 1
data = tf.data.experimental
numbers = tf.data.Dataset.range(64)
strategy = tf.distribute.TPUStrategy()
strategy.experimental_distribute_dataset({dataset})
"""
# The dataset that a strategy distributes: True where its last batch may be smaller.
REPEATED = {
    "numbers.batch(8)": True,
    "numbers.repeat().batch(8)": False,
    "numbers.repeat(-1).batch(8)": False,
    "numbers.repeat(None).batch(8)": False,
    "numbers.repeat(count=None).batch(8)": False,
    "numbers.repeat(2).batch(8)": True,
    "numbers.repeat().map(tf.abs).batch(8)": False,
    "numbers.shuffle(64).batch(8)": True,
    "numbers.apply(data.shuffle_and_repeat(64)).batch(8)": False,
    "numbers.apply(data.shuffle_and_repeat(64, 2)).batch(8)": True,
    "numbers.apply(data.ignore_errors()).batch(8)": True,
    "numbers.apply(library.transformation).batch(8)": True,
    "numbers.apply().batch(8)": True,
    "(numbers.repeat() if flag else numbers.shuffle(64).repeat()).batch(8)": False,
    "(numbers.repeat() if flag else numbers).batch(8)": True,
    "library.dataset().batch(8)": True,
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_last_batch_of_an_input_fn(dataset: str, tmp_path: Path) -> None:
    actual = [
        finding.certainty
        for finding in reported(ESTIMATOR.replace("{dataset}", dataset), tmp_path, ["TPU605"])
    ]
    assert set(actual) == ({DATASETS[dataset]} if DATASETS[dataset] else set())


@pytest.mark.parametrize("dataset", REPEATED)
def test_a_batch_of_an_endless_dataset_is_never_the_last(dataset: str, tmp_path: Path) -> None:
    actual = [
        finding.certainty
        for finding in reported(STRATEGY.replace("{dataset}", dataset), tmp_path, ["TPU605"])
    ]
    assert actual == (["unlikely"] if REPEATED[dataset] else [])


TRAIN = TPU_ESTIMATOR + "\nestimator.train(input_fn, max_steps=1)\n"
PROGRAMS = {
    "a step that gives its share a shape": SYSTEM
    + """
import sys

images = tf.zeros([100, 28, 28])
rows = tf.data.Dataset.from_tensor_slices(images).shuffle(100)

def train(dataset, shape):
    @tf.function
    def step(x):
        def on_replica(image):
            return tf.reduce_sum(tf.reshape(image, shape))
        return strategy.run(on_replica, args=(x,))

    for batch in strategy.experimental_distribute_dataset(dataset):
        step(batch)

train(rows.batch(8 * strategy.num_replicas_in_sync), [8, 784])  # possible: TPU605
train(rows.batch(8 * strategy.num_replicas_in_sync, drop_remainder=True), [8, 784])
train(rows.repeat().batch(8 * strategy.num_replicas_in_sync), [8, 784])
train(rows.batch(8 * strategy.num_replicas_in_sync), [-1, 784])
train(rows.batch(8 * strategy.num_replicas_in_sync), [8, -1])
""",
    "a shape that is set by hand under a test, of one part, or of other batches": INPUT_FN
    + """
def shaped(rows):
    rows.set_shape([8, 4])
    return rows

def tested(params):
    def some(rows):
        return shaped(rows) if more else rows

    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8)  # possible: TPU605
    return rows.map(some)

def mapped_on_one_way(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8)
    return rows.map(shaped) if more else rows

def tested_both_ways(params):
    def either(rows):
        if more:
            rows.set_shape([8, 4])
        else:
            rows.set_shape([8, None])
        return rows

    return tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8).map(either)

def all_parts(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8)
    rows, counts = rows.make_one_shot_iterator().get_next()
    rows = rows if more else tf.random.uniform([8, 4])
    return tf.reshape(rows, [8, 4]), tf.reshape(counts, [8])

def of_a_part(params):
    def counted(rows, count):
        return rows, tf.reshape(tf.reduce_sum(count), [1])

    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    return rows.batch(8).map(counted)  # possible: TPU605

def joined_within(params):
    def labelled(boxes, areas, count):
        means = tf.reshape(tf.tile(tf.expand_dims(tf.reduce_mean(count), 0), [8]), [8, 1])
        return tf.concat([boxes, areas], axis=2), means

    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    return rows.batch(8).map(labelled)  # possible: TPU605

def filled_up(params):
    def padded(rows):
        return tf.reshape(tf.concat([rows, tf.zeros([8 - tf.shape(rows)[0], 4])], axis=0), [8, 4])

    rows = tf.data.TFRecordDataset("gs://bucket/x")  # possible: TPU612
    return rows.batch(8).map(padded)

def input_fn(params):
    if more:
        return tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(8)  # possible: TPU605
    return tf.data.TFRecordDataset("gs://bucket/y").map(shaped).batch(8, True)  # possible: TPU504
"""
    + TRAIN
    + """
estimator.train(tested, max_steps=1)
estimator.train(mapped_on_one_way, max_steps=1)
estimator.train(tested_both_ways, max_steps=1)
estimator.train(of_a_part, max_steps=1)
estimator.train(joined_within, max_steps=1)
estimator.train(filled_up, max_steps=1)
estimator.train(all_parts, max_steps=1)
""",
    "batches of the rows with one key": INPUT_FN
    + """
def grouped(make):
    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    return rows.apply(tf.data.experimental.group_by_window(tf.size, make, 8))

def shaped(rows):
    rows.set_shape([8, 4])
    return rows

def input_fn(params):
    return grouped(lambda key, rows: rows.batch(8))  # error: TPU605

def by_method(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    make = lambda key, rows: rows.padded_batch(8, [9])  # error: TPU605
    return rows.group_by_window(key_func=tf.size, reduce_func=make, window_size=8)

def even(params):
    return grouped(lambda key, rows: rows.batch(8, drop_remainder=True))

def by_hand(params):
    return grouped(lambda key, rows: rows.batch(8)).map(shaped)

def grouped_elsewhere(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    if more:
        return rows.padded_batch(8, [9], drop_remainder=True)
    make = lambda key, rows: rows.padded_batch(8, [None])
    return rows.apply(tf.data.experimental.group_by_window(tf.size, make, 8))

def batched_again(params):
    return grouped(lambda key, rows: rows.batch(8)).unbatch().batch(8, True)

def seen_by_nobody(params):
    return grouped(library.batches)
"""
    + TRAIN
    + """
estimator.train(by_method, max_steps=1)
estimator.train(even, max_steps=1)
estimator.train(by_hand, max_steps=1)
estimator.train(batched_again, max_steps=1)
estimator.train(grouped_elsewhere, max_steps=1)
estimator.train(seen_by_nobody, max_steps=1)
""",
    "batches of what is not seen": INPUT_FN
    + """
def input_fn(params):
    return library.rows(params).batch(8)  # possible: TPU605

def parsed(row):
    return library.parser(row).batch(8)

def even(params):
    return library.rows(params).map(parsed).batch(8, drop_remainder=True)

library.rows(9).batch(8)
"""
    + TRAIN
    + """
estimator.train(even, max_steps=1)
""",
    "false alarm: a script with a TPUEstimator that keeps off the TPU": V1
    + """
estimator = None

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"rows": features})

def input_fn_builder(rows):
    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices(rows)
        return data.batch(batch_size=params["batch_size"], drop_remainder=False)
    return input_fn

def build():
    global estimator
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, tf.estimator.tpu.RunConfig(), use_tpu=False, predict_batch_size=10
    )

def predict(rows):
    return estimator.predict(input_fn_builder(rows))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_batches_of_a_program_are_told_apart(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
