"""Programs with a TPUEmbedding train as plain variables and TensorFlow's kernels do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.embedding.plain_models import KINDS, PlainTable, optimizer_of

embedding = tf.tpu.experimental.embedding

BATCH, ROWS, DIM = 4, 7, 3
ON_HOST = tf.distribute.InputOptions(experimental_fetch_to_device=False)
ROWS_OF = np.random.RandomState(1)
INITIAL = ROWS_OF.rand(ROWS, DIM).astype(np.float32)


def dense(step: int) -> Any:
    return tf.constant([step, 1, 1, 6, 5, 0, step, 2])


def sparse(step: int) -> Any:
    rows = [[1, 1, 0], [0, 0, 0], [6, 0, 2], [step + 1, 0, 0], [2, 2, 2], [1, 0, 0]]
    return tf.sparse.from_dense(tf.constant([*rows, [3, 4, 0], [0, 5, 5]]))


def weights(step: int) -> Any:
    return sparse(step).with_values(tf.range(1.0, 1.0 + tf.size(sparse(step).values, tf.float32)))


def ragged(step: int) -> Any:
    return tf.ragged.constant([[1, 1], [], [6, 2, 3], [step], [2, 2, 2], [1], [3, 4], [0, 5]])


FEATURES: dict[str, tuple[Callable[[int], Any], str, int]] = {
    "dense": (dense, "mean", 0),
    "sparse, mean": (sparse, "mean", 0),
    "sparse, sum": (sparse, "sum", 0),
    "sparse, sqrtn": (sparse, "sqrtn", 0),
    "ragged, mean": (ragged, "mean", 0),
    "ragged, sqrtn": (ragged, "sqrtn", 0),
    "a sparse sequence": (sparse, "mean", 2),
    "a ragged sequence": (ragged, "mean", 2),
}


def made_in(strategy: Any, kind: str, name: str) -> Any:
    """Return the TPUEmbedding of a feature, and of a dense one in the same table."""
    _, combiner, longest = FEATURES[name]
    table = embedding.TableConfig(
        ROWS, DIM, tf.constant_initializer(INITIAL), combiner=combiner, name="table"
    )
    config = {
        "one": embedding.FeatureConfig(table=table, max_sequence_length=longest),
        "other": embedding.FeatureConfig(table=table),
    }
    with strategy.scope():
        return embedding.TPUEmbedding(config, optimizer_of(kind))


def batches(strategy: Any, name: str, steps: int) -> Iterator[Any]:
    """Return an iterator of the features of `steps` steps, distributed on the host."""
    of = FEATURES[name][0]
    parts = [tf.data.Dataset.from_tensors({"one": of(n), "other": dense(n)}) for n in range(steps)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.concatenate(part)
    whole = whole.unbatch().batch(2 * BATCH, drop_remainder=True)
    return iter(strategy.experimental_distribute_dataset(whole, ON_HOST))


def loss_of(activations: Any) -> Any:
    return tf.reduce_sum(activations["one"] ** 2) + tf.reduce_sum(tf.sin(activations["other"]))


def training(layer: Any, strategy: Any) -> Any:
    """Return the step of TensorFlow's documentation."""

    def tpu_step() -> Any:
        with tf.GradientTape() as tape:
            activations = layer.dequeue()
            tape.watch(activations)
            loss = loss_of(activations)
        layer.apply_gradients(tape.gradient(loss, activations))
        return loss

    @tf.function
    def step(features: Any) -> Any:
        layer.enqueue(next(features), training=True)
        return strategy.reduce("SUM", strategy.run(tpu_step), axis=None)

    return step


def plainly(kind: str, name: str, steps: int) -> tuple[list[float], Any]:
    """Return the losses and the table after `steps` steps with a variable."""
    of, combiner, longest = FEATURES[name]
    config = embedding.TableConfig(ROWS, DIM, combiner=combiner)
    features = {
        "one": embedding.FeatureConfig(config, max_sequence_length=longest),
        "other": embedding.FeatureConfig(config),
    }
    table, losses = PlainTable(kind, INITIAL), []
    for step in range(steps):
        with tf.GradientTape() as tape:
            inputs = {"one": of(step), "other": dense(step)}
            actual = embedding.serving_embedding_lookup(
                inputs, None, {config: table.variable}, features
            )
            loss = loss_of(actual)
        gradient = tf.convert_to_tensor(tape.gradient(loss, table.variable))
        touched = tf.constant(rows_of(inputs["one"], longest) + rows_of(inputs["other"], 0))
        unique, _ = tf.unique(touched)
        table.step(tf.IndexedSlices(tf.gather(gradient, unique), unique))
        losses.append(float(loss))
    return losses, table.variable.numpy()


def rows_of(feature: Any, longest: int) -> list[int]:
    """Return the rows that a feature looks up, of sequences only the first `longest`."""
    if isinstance(feature, tf.sparse.SparseTensor):
        pairs = zip(feature.indices.numpy(), feature.values.numpy(), strict=True)
        return [int(row) for (_, place), row in pairs if not longest or place < longest]
    if isinstance(feature, tf.RaggedTensor):
        return [row for rows in feature.to_list() for row in rows[: longest or None]]
    return [int(row) for row in feature]


def table_of(layer: Any, folder: Any) -> Any:
    """Return the table of `made`, by a checkpoint."""
    path = tf.train.Checkpoint(embedding=layer).save(str(folder / "checkpoint"))
    copy = embedding.TPUEmbedding(layer._feature_config, layer._table_config[0].optimizer)
    tf.train.Checkpoint(embedding=copy).restore(path)
    (table,) = copy.embedding_tables.values()
    return table.numpy()


@pytest.mark.parametrize("name", FEATURES)
def test_features_are_looked_up_as_for_serving(strategy: Any, tmp_path: Any, name: str) -> None:
    layer, features = made_in(strategy, "SGD", name), batches(strategy, name, 2)
    step = training(layer, strategy)
    losses, table = plainly("SGD", name, 2)
    np.testing.assert_allclose([float(step(features)) for _ in losses], losses, rtol=1e-5)
    np.testing.assert_allclose(table_of(layer, tmp_path), table, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_optimizers_update_as_tensorflows_kernels(strategy: Any, tmp_path: Any, kind: str) -> None:
    layer, features = made_in(strategy, kind, "sparse, sum"), batches(strategy, "sparse, sum", 3)
    step = training(layer, strategy)
    losses, table = plainly(kind, "sparse, sum", 3)
    np.testing.assert_allclose([float(step(features)) for _ in losses], losses, rtol=1e-4)
    np.testing.assert_allclose(table_of(layer, tmp_path), table, rtol=1e-4, atol=1e-6)


def test_a_batch_that_is_enqueued_in_the_step(strategy: Any) -> None:
    layer, features = made_in(strategy, "SGD", "dense"), batches(strategy, "dense", 2)

    def tpu_step(batch: Any) -> Any:
        layer.enqueue(batch, training=True)
        with tf.GradientTape() as tape:
            activations = layer.dequeue()
            tape.watch(activations)
            loss = loss_of(activations)
        layer.apply_gradients(tape.gradient(loss, activations))
        return loss

    @tf.function
    def steps(features: Any) -> Any:
        total = 0.0
        for _ in tf.range(2):
            losses = strategy.run(tpu_step, args=(next(features),))
            total += strategy.reduce("SUM", losses, axis=None)
        return total

    losses, _ = plainly("SGD", "dense", 2)
    assert float(steps(features)) == pytest.approx(sum(losses), rel=1e-5)


def test_evaluation_leaves_the_table_as_it_is(strategy: Any) -> None:
    layer, features = made_in(strategy, "SGD", "dense"), batches(strategy, "dense", 1)

    @tf.function
    def evaluate(batch: Any) -> Any:
        layer.enqueue(batch, training=False)
        return strategy.reduce("SUM", strategy.run(lambda: loss_of(layer.dequeue())), axis=None)

    batch = next(features)
    losses, _ = plainly("SGD", "dense", 1)
    for _ in range(2):
        assert float(evaluate(batch)) == pytest.approx(losses[0], rel=1e-5)


def test_a_checkpoint_is_restored_into_the_engine(strategy: Any, tmp_path: Any) -> None:
    layer, features = made_in(strategy, "Adagrad", "dense"), batches(strategy, "dense", 2)
    step = training(layer, strategy)
    step(features)
    checkpoint = tf.train.Checkpoint(embedding=layer)
    path = checkpoint.save(str(tmp_path / "kept"))
    first = float(step(features))
    checkpoint.restore(path)
    again = batches(strategy, "dense", 2)
    next(again)
    assert float(step(again)) == pytest.approx(first, rel=1e-6)


def test_weights_and_weight_decay_and_clipping() -> None:
    with tpu.emulated_tpu(1):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        table = embedding.TableConfig(
            ROWS, DIM, tf.constant_initializer(INITIAL), combiner="mean", name="table"
        )
        sgd = embedding.SGD(1.0, clip_weight_min=0.0, weight_decay_factor=0.5, clipvalue=0.25)
        with strategy.scope():
            layer = embedding.TPUEmbedding(embedding.FeatureConfig(table=table), sgd)

        def tpu_step() -> Any:
            activations = layer.dequeue()
            layer.apply_gradients(tf.ones_like(activations))
            return activations

        @tf.function
        def step(ids: Any, weights: Any) -> Any:
            layer.enqueue(ids, weights)
            return strategy.run(tpu_step)

        layer.build(tf.TensorShape([2, 2]))
        ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 3, 3], [2, 2])
        with strategy.scope():
            first = step(ids, ids.with_values(tf.constant([1.0, 3.0, 2.0])))
            second = step(ids, ids.with_values(tf.constant([1.0, 0.0, 1.0])))
    np.testing.assert_allclose(first, [(INITIAL[2] + 3 * INITIAL[3]) / 4, INITIAL[3]], rtol=1e-5)
    new = np.maximum(INITIAL * 0.5 - 0.25, 0.0)
    np.testing.assert_allclose(second, new[[2, 3]], rtol=1e-5, atol=1e-6)
