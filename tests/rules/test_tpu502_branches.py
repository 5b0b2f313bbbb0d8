"""Programs with branches of two shapes (TPU502), embeddings (TPU605), traced methods (TPU701)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

BRANCHES = (
    SYSTEM
    + """
def generate(x):
    return tf.cond({test}, lambda: {first}, lambda: {second}){mark}


@tf.function
def step(x):
    return strategy.run(generate, args=(x,))


step(tf.ones([4, 8]))
"""
)
DRAWN = "tf.reduce_sum(x) > 0"
MARK = "  # error: TPU502"
LOOKED_UP = (
    SYSTEM
    + """
embedding = tf.tpu.experimental.embedding
table = embedding.TableConfig(vocabulary_size=64, dim=8)
with strategy.scope():
    words = embedding.TPUEmbedding(
        feature_config=embedding.FeatureConfig(table=table{shape}), optimizer=embedding.SGD(0.1)
    )


@tf.function
def step(iterator):
    words.enqueue(next(iterator), training=False)
    return strategy.run(words.dequeue)


dataset = tf.data.Dataset.from_tensor_slices(tf.range(16)){batch}
step(iter(strategy.experimental_distribute_dataset(dataset)))
"""
)
PROGRAMS = {
    "branches of other ranks": BRANCHES.format(
        test=DRAWN, first="tf.tanh(x)", second="tf.zeros([0])", mark=MARK
    ),
    "branches of other sizes": BRANCHES.format(
        test=DRAWN, first="tf.ones([2])", second="tf.zeros([3])", mark=MARK
    ),
    "branches of one shape": BRANCHES.format(
        test=DRAWN, first="tf.tanh(x)", second="tf.zeros([4, 8])", mark=""
    ),
    "a branch whose shape is not seen": BRANCHES.format(
        test=DRAWN, first="tf.matmul(x, x, transpose_b=True)", second="tf.zeros([0])", mark=""
    ),
    "a test of Python's": BRANCHES.format(
        test="True", first="tf.tanh(x)", second="tf.zeros([0])", mark=""
    ),
    "an embedding that learns its shapes from a batch": LOOKED_UP.format(
        shape="", batch=".batch(8)  # error: TPU605"
    ),
    "an embedding whose shapes are given": LOOKED_UP.format(
        shape=", output_shape=[4]", batch=".repeat().batch(8, drop_remainder=True)"
    ),
    "batches of one size": LOOKED_UP.format(shape="", batch=".batch(8, drop_remainder=True)"),
    "a tf.function made of the method": SYSTEM
    + """
def replica_step(x):
    tf.print(x)  # error: TPU501
    return x


step = tf.function(strategy.run)
step(replica_step, args=(tf.ones([4]),))
strategy.run(replica_step, args=(tf.ones([4]),))  # error: TPU701
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
