"""A hang on a TPU is an error here, and an unsupported embedding is refused when it is made."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.execute import waiting

embedding = tf.tpu.experimental.embedding
TABLE = ("vocabulary_size", 5), ("dim", 2), ("name", "words")


def made_in(strategy: Any, optimizer: Any = None, **table: Any) -> Any:
    words = embedding.TableConfig(**dict(TABLE), **table)
    with strategy.scope():
        return embedding.TPUEmbedding(
            embedding.FeatureConfig(table=words), optimizer or embedding.SGD(0.1)
        )


def stepping(layer: Any, strategy: Any, *, training: bool, applies: bool) -> Any:
    def tpu_step() -> Any:
        activations = layer.dequeue()
        if applies:
            layer.apply_gradients(activations)
        return activations

    @tf.function
    def step(ids: Any) -> Any:
        of_replicas = strategy.experimental_distribute_values_from_function(lambda _: ids)
        layer.enqueue(of_replicas, training=training)
        return strategy.run(tpu_step)

    return step


def dequeuing(layer: Any, strategy: Any) -> Any:
    @tf.function
    def step() -> Any:
        return strategy.run(layer.dequeue)

    return step


def test_a_batch_that_nobody_enqueues(strategy: Any) -> None:
    layer = made_in(strategy)
    layer.build(tf.TensorShape([2]))
    step = dequeuing(layer, strategy)
    with (
        mock.patch.object(waiting, "MAX_IDLE_SECONDS", 0.5),
        pytest.raises(tpu.DeadlockError, match=r"no batch is enqueued.*\n.*TPU709"),
    ):
        step()


def test_a_step_that_enqueues_later_is_awaited(strategy: Any) -> None:
    layer = made_in(strategy)

    @tf.function
    def enqueue(ids: Any) -> None:
        of_replicas = strategy.experimental_distribute_values_from_function(lambda _: ids)
        layer.enqueue(of_replicas, training=False)

    @tf.function
    def step(ids: Any) -> Any:
        actual = strategy.run(layer.dequeue)
        enqueue(ids)
        return actual

    enqueue(tf.constant([0, 1]))
    actual = step(tf.constant([2, 3]))
    again = strategy.experimental_local_results(dequeuing(layer, strategy)())
    assert [result.shape for result in strategy.experimental_local_results(actual)] == [(2, 2)] * 2
    assert [variable.shape for variable in again] == [(2, 2)] * 2


def test_gradients_of_a_batch_that_is_for_inference(strategy: Any) -> None:
    step = stepping(made_in(strategy), strategy, training=False, applies=True)
    with pytest.raises(tpu.DeadlockError, match="dequeued no training batch"):
        step(tf.constant([1, 2]))


def test_a_training_batch_without_gradients(strategy: Any) -> None:
    step = stepping(made_in(strategy), strategy, training=True, applies=False)
    step(tf.constant([1, 2]))
    with pytest.raises(tpu.DeadlockError, match="has not sent the gradients"):
        step(tf.constant([1, 2]))


@pytest.mark.parametrize("outside", [-1, 5])
def test_an_id_outside_its_table(strategy: Any, outside: int) -> None:
    step = stepping(made_in(strategy), strategy, training=False, applies=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"id {outside} is outside .*'words'"):
        step(tf.constant([1, outside]))


def test_a_second_embedding_needs_the_system_anew(strategy: Any) -> None:
    made_in(strategy).build(tf.TensorShape([2]))
    with pytest.raises(RuntimeError, match="already initialized for embeddings"):
        made_in(strategy).build(tf.TensorShape([2]))
    tf.tpu.experimental.initialize_tpu_system(tf.distribute.cluster_resolver.TPUClusterResolver())
    made_in(strategy).build(tf.TensorShape([2]))


def test_dequeue_outside_a_step(strategy: Any) -> None:
    layer = made_in(strategy)
    layer.build(tf.TensorShape([2]))
    with strategy.scope(), pytest.raises(RuntimeError, match=r"call them in strategy\.run"):
        layer.dequeue()


def test_what_is_not_emulated_is_refused_when_it_is_made(strategy: Any) -> None:
    with pytest.raises(NotImplementedError, match="does not offer the optimizer AdagradMomentum"):
        made_in(strategy, embedding.AdagradMomentum(0.1, 0.9))
    quantized = embedding.QuantizationConfig(num_buckets=4, lower=0.0, upper=1.0)
    with pytest.raises(NotImplementedError, match="does not offer quantization_config"):
        made_in(strategy, quantization_config=quantized)
    words = embedding.FeatureConfig(table=embedding.TableConfig(**dict(TABLE)))
    with strategy.scope(), pytest.raises(NotImplementedError, match="pipeline_execution"):
        embedding.TPUEmbedding(words, embedding.SGD(0.1), pipeline_execution_with_tensor_core=True)


@pytest.mark.skipif(not hasattr(embedding, "TPUEmbeddingV2"), reason="not in this TensorFlow")
def test_the_sparse_core_is_refused(strategy: Any) -> None:
    words = embedding.FeatureConfig(table=embedding.TableConfig(**dict(TABLE)))
    with strategy.scope(), pytest.raises(NotImplementedError, match="no SparseCore"):
        embedding.TPUEmbeddingV2(words, embedding.SGD(0.1))


def test_tables_on_the_cores_need_no_hardware(strategy: Any) -> None:
    """TPUEmbeddingV0 looks up with ordinary operations, and trains with any optimizer."""
    words = embedding.TableConfig(
        **dict(TABLE), initializer=tf.constant_initializer(1.0), combiner="sum"
    )
    with strategy.scope():
        layer = embedding.TPUEmbeddingV0(embedding.FeatureConfig(table=words), embedding.SGD(0.1))
        layer.build()

    def tpu_step() -> Any:
        (table,) = layer.embedding_tables.values()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.constant([1, 1, 2])))
        gradient = tf.convert_to_tensor(tape.gradient(loss, table))
        total = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
        table.assign_sub(0.25 * total)
        return loss

    @tf.function
    def step() -> Any:
        return strategy.run(tpu_step)

    step()
    (table,) = layer.embedding_tables.values()
    assert table.values[0].numpy()[:, 0].tolist() == [1.0, 0.0, 0.5, 1.0, 1.0]


def test_without_the_strategy_the_tables_are_variables(strategy: Any) -> None:
    words = embedding.TableConfig(**dict(TABLE))
    layer = embedding.TPUEmbedding(embedding.FeatureConfig(table=words), embedding.SGD(0.1))
    assert layer.embedding_tables[words].shape == (5, 2)
    with pytest.raises(RuntimeError, match="not created under a TPUStrategy"):
        layer.dequeue()
