"""The pipeline step that makes the batches, and the size of the last batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported

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
    ' "y": lines.batch(8).make_one_shot_iterator().get_next()}': None,
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
    found = [
        each.certainty
        for each in reported(ESTIMATOR.replace("{dataset}", dataset), tmp_path, ["TPU605"])
    ]
    assert set(found) == ({DATASETS[dataset]} if DATASETS[dataset] else set())


@pytest.mark.parametrize("dataset", REPEATED)
def test_a_batch_of_an_endless_dataset_is_never_the_last(dataset: str, tmp_path: Path) -> None:
    found = [
        each.certainty
        for each in reported(STRATEGY.replace("{dataset}", dataset), tmp_path, ["TPU605"])
    ]
    assert found == (["unlikely"] if REPEATED[dataset] else [])
