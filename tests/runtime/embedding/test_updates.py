"""Tables are updated once for each batch of all cores, whatever the cores' speed and failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.runtime.embedding.plain_models import PlainTable, optimizer_of
from tpulint.runtime.embedding import operations

embedding = tf.tpu.experimental.embedding
ROWS, DIM = 5, 2
INITIAL = np.random.RandomState(1).rand(ROWS, DIM).astype(np.float32)
IDS = np.array([[1, 1, 2], [1, 4, 4]])
"""One row a core."""


def made_in(strategy: Any, kind: str = "SGD", *, accumulates: bool = True) -> Any:
    table = embedding.TableConfig(
        ROWS, DIM, tf.constant_initializer(INITIAL), combiner="sum", name="table"
    )
    with strategy.scope():
        layer = embedding.TPUEmbedding(
            embedding.FeatureConfig(table=table), optimizer_of(kind, accumulates=accumulates)
        )
    layer.build(tf.TensorShape([len(IDS[0])]))
    return layer


def enqueued(layer: Any, strategy: Any, ids: Any) -> None:
    of_replicas = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(ids[context.replica_id_in_sync_group])
    )
    layer.enqueue(of_replicas, training=True)


def trained(layer: Any, passed: Callable[[Any, Any], Any]) -> Any:
    """Dequeue, and apply the gradient after the host has `passed` it on; return the loss."""

    def on_the_host(gradient: Any, replica: Any) -> Any:
        computed = tf.numpy_function(passed, [gradient, replica], tf.float32)
        return tf.ensure_shape(computed, gradient.shape)

    with tf.GradientTape() as tape:
        activations = layer.dequeue()
        tape.watch(activations)
        loss = tf.reduce_sum(tf.sin(activations))
    gradient = tape.gradient(loss, activations)
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    layer.apply_gradients(tf.compat.v1.tpu.outside_compilation(on_the_host, gradient, replica))
    return loss


def plainly(kind: str, batches: Any, *, accumulates: bool = True) -> tuple[list[float], Any]:
    """Return the losses and the table after `batches`, by TensorFlow's kernels."""
    table, losses = PlainTable(kind, INITIAL), []
    for batch in batches:
        rows = tf.constant(batch.reshape(-1))
        actual = tf.gather(table.variable, rows)
        gradients = tf.cos(actual)
        losses.append(float(tf.reduce_sum(tf.sin(actual))))
        if accumulates:
            table.step(tf.IndexedSlices(gradients, rows))
        else:
            for place in range(len(rows)):
                row = slice(place, place + 1)
                table.step(tf.IndexedSlices(gradients[row], rows[row]))
    return losses, table.variable.numpy()


def table_now() -> Any:
    engine = operations.current_engine()
    assert engine is not None
    return engine.retrieve("table")["parameters"]


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "Adam", "FTRL"])
@pytest.mark.parametrize("accumulates", [True, False])
def test_gradients_of_one_row(strategy: Any, kind: str, accumulates: bool) -> None:
    """Without accumulation each makes an update of its own, core by core."""
    layer = made_in(strategy, kind, accumulates=accumulates)

    @tf.function
    def step() -> Any:
        enqueued(layer, strategy, IDS)
        return strategy.run(lambda: trained(layer, lambda gradient, _: gradient))

    for _ in range(2):
        step()
    _, table = plainly(kind, [IDS, IDS], accumulates=accumulates)
    np.testing.assert_allclose(table_now(), table, rtol=1e-5, atol=1e-6)


def test_those_of_a_failed_step_are_forgotten(strategy: Any) -> None:
    """One core has sent its gradients when the other fails."""
    layer, fails = made_in(strategy), [True]

    def passed(gradient: Any, replica: Any) -> Any:
        engine = operations.current_engine()
        assert engine is not None
        if replica == 1 and fails:
            until = time.monotonic() + 120.0
            while not engine._answers and time.monotonic() < until:
                time.sleep(0.01)
            assert engine._answers
            raise ValueError("on purpose")
        return gradient

    @tf.function
    def step(ids: Any) -> Any:
        of_replicas = strategy.experimental_distribute_values_from_function(
            lambda context: ids[context.replica_id_in_sync_group]
        )
        layer.enqueue(of_replicas, training=True)
        losses = strategy.run(lambda: trained(layer, passed))
        return strategy.reduce("SUM", losses, axis=None)

    with pytest.raises(tf.errors.OpError, match="on purpose"):
        step(tf.constant(IDS))
    fails.clear()
    others = (IDS + 1) % ROWS
    losses, table = plainly("SGD", [others, IDS])
    assert [float(step(tf.constant(row))) for row in (others, IDS)] == pytest.approx(losses)
    np.testing.assert_allclose(table_now(), table, rtol=1e-5)


def test_a_core_that_is_ahead_waits_for_the_update(strategy: Any) -> None:
    """In a loop on the device the other core's gradients are late."""
    layer = made_in(strategy)

    def passed(gradient: Any, replica: Any) -> Any:
        time.sleep(0.2 * float(replica))
        return gradient

    def looping() -> Any:
        def body(number: Any, total: Any) -> Any:
            return number + 1, total + trained(layer, passed)

        return tf.while_loop(lambda number, _: number < 3, body, (0, 0.0))[1]

    @tf.function
    def steps() -> Any:
        return strategy.reduce("SUM", strategy.run(looping), axis=None)

    @tf.function
    def enqueue() -> None:
        enqueued(layer, strategy, IDS)

    for _ in range(3):
        enqueue()
    losses, table = plainly("SGD", [IDS] * 3)
    assert float(steps()) == pytest.approx(sum(losses))
    np.testing.assert_allclose(table_now(), table, rtol=1e-5)
