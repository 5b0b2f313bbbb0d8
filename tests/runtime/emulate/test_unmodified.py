"""Programs with TensorFlow's own names only, as they are written for a TPU."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def strategy_as_in_the_guides() -> Any:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu", zone="a", project="b")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


@pytest.mark.parametrize("num_replicas", [1, 2, 8])
def test_a_training_step_with_a_host_cluster(num_replicas: int) -> None:
    seen: list[float] = []

    def note(x: Any) -> None:
        tf.py_function(lambda value: seen.append(float(value)), [x], [])

    with tpu.emulated_tpu(num_replicas=num_replicas):
        strategy = strategy_as_in_the_guides()
        with strategy.scope():
            weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)

        def replica_fn(x: Any) -> Any:
            context = tf.distribute.get_replica_context()
            rank = tf.cast(context.replica_id_in_sync_group, tf.float32)
            y = weight * x + rank
            tf.compat.v1.tpu.outside_compilation(note, y)
            weight.assign_add(context.all_reduce(tf.distribute.ReduceOp.SUM, y))
            return y

        @tf.function
        def step(x: Any) -> Any:
            return strategy.reduce("SUM", strategy.run(replica_fn, args=(x,)), axis=None)

        ranks = sum(range(num_replicas))
        first = 2.0 * num_replicas + ranks
        assert float(step(tf.constant(2.0))) == first
        assert sorted(seen) == [2.0 + rank for rank in range(num_replicas)]
        copies = strategy.experimental_local_results(weight)
        assert [float(copy) for copy in copies] == [1.0 + first] * num_replicas
        assert [copy.device.rpartition(":")[2] for copy in copies] == [
            str(core) for core in range(num_replicas)
        ]


def test_a_deadlock_is_an_error_that_names_its_rule() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        strategy = strategy_as_in_the_guides()
        counter = tf.Variable(0.0)

        def replica_fn(x: Any) -> Any:
            counter.assign_add(1.0)
            return tf.compat.v1.tpu.outside_compilation(counter.__mul__, x * 2.0) + counter

        @tf.function
        def step(x: Any) -> Any:
            return strategy.run(replica_fn, args=(x,))

        with pytest.raises(tpu.DeadlockError) as caught:
            step(tf.constant(2.0))
        assert caught.value.rule == "TPU101"


def test_a_variable_of_the_strategy_cannot_cross_to_the_host() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        strategy = strategy_as_in_the_guides()
        with strategy.scope():
            scale = tf.Variable(2.0)

        @tf.function
        def step(x: Any) -> Any:
            def replica_fn(x: Any) -> Any:
                return tf.compat.v1.tpu.outside_compilation(lambda y: y / scale, x)

            return strategy.run(replica_fn, args=(x,))

        with pytest.raises(ValueError, match="TPU102") as caught:
            step(tf.constant(2.0))
        assert isinstance(caught.value, tpu.DeviceVariableError)
        assert caught.value.rule == "TPU102"
