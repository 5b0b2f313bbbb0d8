"""TensorFlow's own names, old and new, in functions and in sessions."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu

# As programs import them: before anything is emulated.
replicate = tf.compat.v1.tpu.replicate
rewrite = tf.compat.v1.tpu.rewrite
shard = tf.compat.v1.tpu.shard
batch_parallel = tf.compat.v1.tpu.batch_parallel
outside_compilation = tf.compat.v1.tpu.outside_compilation
cross_replica_sum = tf.compat.v1.tpu.cross_replica_sum


def on_the_host(x: Any) -> Any:
    return tf.strings.to_number(tf.strings.as_string(x)) + 1.0


def through_the_host(x: Any) -> Any:
    return outside_compilation(on_the_host, x * 2.0) * 10.0


def on_each(x: Any) -> Any:
    return replicate(through_the_host, [[x], [x]])[1][0]


def alone(x: Any) -> Any:
    return rewrite(through_the_host, [x])[0]


def in_shards(x: Any) -> Any:
    return shard(through_the_host, [tf.stack([x, x])], num_shards=2)[0][1]


def in_batches(x: Any) -> Any:
    return batch_parallel(through_the_host, [tf.stack([x, x])], 2)[0][1]


@pytest.mark.parametrize("call", [on_each, alone, in_shards, in_batches])
def test_tensorflows_functions(call: Any) -> None:
    with tpu.emulated_tpu(num_replicas=2):
        tf.tpu.experimental.initialize_tpu_system()
        assert float(tf.function(call)(tf.constant(3.0))) == 70.0
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [])
            session.run(tf.compat.v1.tpu.initialize_system())
            assert session.run(call(x), {x: 3.0}) == 70.0
            session.run(tf.compat.v1.tpu.shutdown_system())


@pytest.mark.parametrize(
    "kind",
    [
        tf.distribute.TPUStrategy,
        tf.distribute.experimental.TPUStrategy,
        tf.compat.v1.distribute.experimental.TPUStrategy,
        tpu.TPUStrategy,
    ],
)
def test_the_strategys_names(kind: Any) -> None:
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = kind(resolver)
        assert strategy.num_replicas_in_sync == 2

        @tf.function
        def step(x: Any) -> Any:
            return strategy.run(cross_replica_sum, args=(x,))

        results = strategy.experimental_local_results(step(tf.constant(2.0)))
        assert [float(result) for result in results] == [4.0, 4.0]


@pytest.mark.parametrize("device", ["/job:worker", "/job:worker/replica:0/task:0/device:CPU:0"])
def test_the_only_host_by_its_name_on_a_tpu_node(device: str) -> None:
    with tpu.emulated_tpu(num_replicas=2):
        with tf.device(device):
            dataset = tf.data.Dataset.from_tensor_slices(tf.ones([4, 2])).batch(4)
            variable = tf.Variable(1.0)

            @tf.function
            def add(x: Any) -> Any:
                with tf.device(device):
                    return x + variable

            assert [add(tf.reduce_sum(batch)) for batch in dataset] == [9.0]
        with tf.device("/job:other"), pytest.raises(tf.errors.InvalidArgumentError):
            tf.constant(1.0) + 1.0


def test_a_strategy_in_a_session() -> None:
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.compat.v1.distribute.experimental.TPUStrategy(resolver)
        with strategy.scope():
            weight = tf.compat.v1.get_variable(
                "weight", initializer=1.0, aggregation=tf.VariableAggregation.SUM
            )

        def replica_fn(x: Any) -> Any:
            return weight.assign_add(outside_compilation(on_the_host, x))

        x = tf.compat.v1.placeholder(tf.float32, [])
        result = strategy.reduce("SUM", strategy.run(replica_fn, args=(x,)), axis=None)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            assert session.run(result, {x: 2.0}) == 14.0
            copies = strategy.experimental_local_results(weight)
            assert session.run(list(copies)) == [7.0, 7.0]
            assert [copy.device[-5:] for copy in copies] == ["TPU:0", "TPU:1"]


def test_the_resolver_has_the_facts_that_programs_print() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470")
        assert resolver.cluster_spec().as_dict()["worker"]
        assert resolver.num_accelerators() == {"TPU": 2}
        assert resolver.master() == ""
        again = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        assert again.get_tpu_system_metadata().num_of_cores_per_host == 2
        assert tf.config.list_physical_devices("TPU")[1].name == "/physical_device:TPU:1"
