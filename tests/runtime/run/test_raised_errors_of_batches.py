"""The errors of batches that TensorFlow refuses lead to findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.run.test_raised_errors import STRATEGY, error_of, linked


@pytest.mark.parametrize(
    "run",
    [
        "words.enqueue(next(batches)); strategy.run(lambda: words.dequeue())",
        "strategy.run(lambda batch: words.enqueue(batch), args=(next(batches),))",
    ],
)
def test_a_batch_on_the_tpu_leads_to_the_embedding_that_gets_it(run: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
embedding = tf.tpu.experimental.embedding
table = embedding.TableConfig(vocabulary_size=8, dim=2)
with strategy.scope():
    words = embedding.TPUEmbedding(embedding.FeatureConfig(table=table), embedding.SGD(0.1))

dataset = tf.data.Dataset.range(8, output_type=tf.int32).batch(4, drop_remainder=True)
batches = iter(strategy.experimental_distribute_dataset(dataset))

@tf.function
def step():
    {run}

step()
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU709", "TPU709")], error


@pytest.mark.parametrize(
    "taker", ["strategy.experimental_distribute_dataset(rows)", "model.fit(rows)"]
)
def test_single_examples_lead_to_what_takes_them_as_batches(taker: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((tf.ones([8, 4]), tf.zeros([8])))
{taker}
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU714", "TPU714")], error
