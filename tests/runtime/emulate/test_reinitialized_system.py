"""Initializing the TPU system again loses what was on it, and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import tensorflow as tf

import tpulint.runtime as tpu

LOST = "was lost when the TPU system was initialized again"


def connect(name: str = "") -> Any:
    """Return a strategy on the TPU of that name, which is initialized now."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def variable_of(strategy: Any, **options: Any) -> Any:
    with strategy.scope():
        return tf.Variable(2.0, **options)


def step_of(strategy: Any, variable: Any) -> Callable[[], float]:
    @tf.function
    def step() -> Any:
        return strategy.run(lambda: variable + 1.0)

    return lambda: float(strategy.experimental_local_results(step())[0])


def assert_lost(use: Callable[[], Any]) -> None:
    with pytest.raises(tpu.LostVariableError, match=LOST) as caught:
        use()
    assert caught.value.rule == "TPU704"
    assert "test_reinitialized_system.py" in str(caught.value.place)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.SUM,
        },
    ],
)
def test_the_variables_of_a_strategy_are_lost(strategy: Any, options: Any) -> None:
    variable = variable_of(strategy, **options)
    step = step_of(strategy, variable)
    assert step() == 3.0
    connect()
    assert_lost(step)
    assert_lost(step_of(strategy, variable))
    assert_lost(variable.numpy)
    with strategy.scope():
        assert_lost(lambda: variable.assign(1.0))


def test_variables_on_a_core_are_lost(strategy: Any) -> None:
    with tf.device("TPU:1"):
        variable = tf.Variable(1.0)
    read = tf.function(lambda: variable + 1.0)
    assert float(read()) == 2.0
    connect()
    assert_lost(variable.numpy)
    assert_lost(read)
    assert_lost(lambda: variable + 1.0)
    assert_lost(lambda: tf.add_n([variable, variable]))


def test_variables_of_the_host_survive(strategy: Any) -> None:
    variable = tf.Variable(1.0)
    connect()
    variable.assign_add(1.0)
    assert float(tf.function(lambda: variable + 1.0)()) == 3.0


def test_a_new_model_on_a_new_strategy_runs(strategy: Any) -> None:
    old = step_of(strategy, variable_of(strategy))
    again = connect()
    assert step_of(again, variable_of(again))() == 3.0
    assert_lost(old)
    assert step_of(strategy, variable_of(strategy))() == 3.0


def test_two_strategies_after_one_initialization(strategy: Any) -> None:
    other = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
    steps = [step_of(owner, variable_of(owner)) for owner in (strategy, other)]
    assert [step() for step in steps] == [3.0, 3.0]


def test_another_tpu_is_initialized_for_the_first_time() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        training = connect("train-tpu")
        step = step_of(training, variable_of(training))
        evaluation = connect("eval-tpu")
        assert step() == step_of(evaluation, variable_of(evaluation))() == 3.0
        connect("train-tpu")
        assert_lost(step)


def test_a_lost_variable_is_deleted_in_silence(strategy: Any) -> None:
    variable = variable_of(strategy)
    connect()
    with mock.patch("sys.unraisablehook") as raised:
        del variable
        gc.collect()
    raised.assert_not_called()


def test_embedding_tables_are_lost(strategy: Any) -> None:
    embedding = tf.tpu.experimental.embedding
    table = embedding.TableConfig(vocabulary_size=5, dim=2, name="words")
    with strategy.scope():
        words = embedding.TPUEmbedding(embedding.FeatureConfig(table=table), embedding.SGD(0.1))
    words.build(tf.TensorShape([2]))

    @tf.function
    def enqueue() -> None:
        ids = strategy.experimental_distribute_values_from_function(lambda _: tf.constant([0, 1]))
        words.enqueue(ids, training=False)

    enqueue()
    tf.tpu.experimental.initialize_tpu_system(tf.distribute.cluster_resolver.TPUClusterResolver())
    with pytest.raises(tpu.LostVariableError, match="embedding tables"):
        enqueue()


def test_the_variables_of_a_session_survive() -> None:
    """They are on the host, and TPUEstimator initializes the system in each session."""
    with (
        tpu.emulated_tpu(num_replicas=2),
        tf.Graph().as_default(),
        tf.compat.v1.Session() as session,
    ):
        variable = tf.compat.v1.get_variable("x", [], initializer=tf.ones_initializer())
        result = tf.compat.v1.tpu.rewrite(lambda: variable + 1.0)
        for _ in range(2):
            session.run(tf.compat.v1.tpu.initialize_system())
            if not session.run(tf.compat.v1.is_variable_initialized(variable)):
                session.run(variable.initializer)
            assert float(session.run(result)[0]) == 2.0
