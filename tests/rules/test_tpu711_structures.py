"""TPU711: items of the dicts and tuples that a step returns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

STRUCTURES = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


def losses_of(x):
    loss = tf.reduce_sum(x)
    return {"loss": loss, "scaled": loss * 2.0, "both": (loss, loss)}


@tf.function
def train(rows, count):
    losses = strategy.run(losses_of, args=(next(rows),))
    for _ in tf.range(count):
        losses = strategy.run(losses_of, args=(next(rows),))
    {line}
"""
OF_ITEMS = {
    "items of a dict are added": "return losses['loss'] + losses['scaled']",
    "an item of a dict is averaged": "return tf.reduce_mean(losses['loss'])",
    "a part of an item is divided": "first, second = losses['both']; return first / 2.0",
}
OF_REDUCED_ITEMS = {
    "all items are reduced": (
        "means = tf.nest.map_structure(lambda x: strategy.reduce('MEAN', x, axis=None), losses)\n"
        "    return means['loss'] + means['scaled']"
    ),
    "a comprehension reduces the items": (
        "means = {key: strategy.reduce('SUM', x, axis=None) for key, x in losses.items()}\n"
        "    return means['loss'] + 1.0"
    ),
    "a tuple of the items is joined": "return losses['both'] + losses['both']",
    "the dict is iterated": "return [key for key in losses], list(losses.items())",
}


@pytest.mark.parametrize("case", OF_ITEMS)
def test_items_of_what_run_returned_are_of_all_replicas(case: str, tmp_path: Path) -> None:
    program = STRUCTURES.replace("{line}", OF_ITEMS[case])
    assert set(certainties(program, tmp_path, "TPU711")) == {"definite"}


@pytest.mark.parametrize("case", OF_REDUCED_ITEMS)
def test_items_that_are_reduced_are_tensors(case: str, tmp_path: Path) -> None:
    program = STRUCTURES.replace("{line}", OF_REDUCED_ITEMS[case])
    assert certainties(program, tmp_path, "TPU711") == []


RESULTS = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())


@tf.function
def train(x):
    return strategy.run(lambda x: tf.reduce_sum(x), args=(x,))


dataset = tf.data.Dataset.from_tensor_slices(tf.ones([8, 4])).batch(4, drop_remainder=True)
for x in strategy.experimental_distribute_dataset(dataset):
    {line}
"""


@pytest.mark.parametrize("is_chosen", [False, True])
def test_what_is_put_into_a_tuple_first_can_be_iterated_over(
    is_chosen: bool, tmp_path: Path
) -> None:
    line = """
    results = train(x)
    if unseen.flag:
        results = (train(x), x)
    if not isinstance(results, tuple):
        results = (results,)
    for item in results:
        print(item)
"""
    if not is_chosen:
        line = line.replace("    if unseen.flag:\n        results = (train(x), x)\n", "")
    assert certainties(RESULTS.replace("{line}", line), tmp_path, "TPU711") == []
