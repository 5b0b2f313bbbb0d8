"""TPU607 where a strategy is a parameter, or made by a module that is not in the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

TRAINER = """
import tensorflow as tf

TPU_HOST_ONLY = "the TPU reads its data from this pipeline"


def rows():
    yield [1.0]


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy

    def data(self):
        dataset = tf.data.Dataset.from_generator(rows, tf.float32).batch(8, drop_remainder=True)
        return self.strategy.experimental_distribute_dataset(dataset)

    def train(self):
        step = tf.function(lambda batch: self.strategy.run(tf.reduce_sum, args=(batch,)))
        for batch in self.data():
            step(batch)
"""
MAKES = """
import tensorflow as tf
from trainer import Trainer

strategy = {strategy}

if __name__ == "__main__":
    Trainer(strategy).train()
"""
OF_TPU = """tf.distribute.TPUStrategy(
    tf.distribute.cluster_resolver.TPUClusterResolver.connect("a-tpu")
)"""
PROJECT = f"# file: trainer.py\n{TRAINER}\n# file: main.py\n{MAKES}"
CASES = {
    "nobody calls it": (TRAINER, ["possible"]),
    "a script makes the strategy of a TPU": (
        PROJECT.replace("{strategy}", OF_TPU),
        ["definite"],
    ),
    "all scripts make another strategy": (
        PROJECT.replace("{strategy}", "tf.distribute.MirroredStrategy()"),
        [],
    ),
    "no TPU is named": (TRAINER.replace("TPU", "GPU"), []),
    "a dataset of TensorFlow": (
        TRAINER.replace("from_generator(rows, tf.float32)", "range(64)"),
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pipeline_of_an_unknown_strategy(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert certainties(text, tmp_path, "TPU607") == expected
