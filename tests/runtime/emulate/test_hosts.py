"""A pod of several hosts: its names, the hosts' own input pipelines, and the same values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tpulint.runtime as tpu
from tests.runtime.strategies import pod

HOST = "/job:worker/replica:0/task:{}/device:CPU:0"
CORE = "/job:worker/replica:0/task:{}/device:TPU:{}"


def local(strategy: Any, value: Any) -> list[Any]:
    return [result.numpy().tolist() for result in strategy.experimental_local_results(value)]


@pytest.mark.parametrize(
    ("asked_for", "mesh", "of_second_host"),
    [
        ({"num_replicas": 32, "hosts": 4}, [4, 4, 1, 2], [2, 0, 0, 0]),
        ({"num_replicas": 4, "hosts": 4}, [2, 2, 1, 1], [1, 0, 0, 0]),
        ({"num_replicas": 6, "hosts": 3}, [3, 1, 1, 2], [1, 0, 0, 0]),
        ({"topology": "4x4x2", "hosts": 4}, [4, 4, 1, 2], [2, 0, 0, 0]),
        ({"topology": "2x2x4x2", "hosts": 4}, [2, 2, 4, 2], [0, 0, 1, 0]),
        ({"hosts": 2}, [2, 1, 1, 1], [1, 0, 0, 0]),
    ],
)
def test_the_hosts_share_the_mesh(
    asked_for: dict[str, Any], mesh: list[int], of_second_host: list[int]
) -> None:
    with tpu.emulated_tpu(**asked_for):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        assert topology.mesh_shape.tolist() == mesh
        assert topology.num_tasks == asked_for["hosts"]
        assert topology.device_coordinates[1][0].tolist() == of_second_host
        cores = topology.device_coordinates.reshape(-1, 4).tolist()
        assert len({tuple(core) for core in cores}) == len(cores)
        metadata = resolver.get_tpu_system_metadata()
        assert metadata.num_hosts == asked_for["hosts"]
        assert metadata.num_cores == len(cores)
        assert metadata.num_of_cores_per_host == topology.num_tpus_per_task


@pytest.mark.parametrize(
    ("asked_for", "why"),
    [
        ({"num_replicas": 4, "hosts": 3}, "3 hosts cannot share 4 cores"),
        ({"topology": "2x2", "hosts": 3}, "3 hosts cannot share the chips"),
        ({"num_replicas": 4, "hosts": 0}, "at least one host"),
    ],
)
def test_hosts_that_cannot_share_the_cores_are_refused(asked_for: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why), tpu.emulated_tpu(**asked_for):
        pass


def test_devices_have_the_names_that_they_have_on_a_pod() -> None:
    with pod(2) as strategy:
        extended = strategy.extended
        assert (extended.num_hosts, extended.num_replicas_per_host) == (2, 2)
        assert list(extended.worker_devices) == [CORE.format(r // 2, r % 2) for r in range(4)]
        assert tf.constant(1.0).device == HOST.format(0)  # the master is the default device
        assert tf.add(1.0, 2.0).device == HOST.format(0)
        assert [len(tf.config.list_logical_devices(kind)) for kind in ("CPU", "TPU")] == [3, 4]
        with strategy.scope():
            weight = tf.Variable(1.0)
        assert [copy.device for copy in weight.values] == list(extended.worker_devices)
        with tf.device(HOST.format(1)):
            assert tf.constant([1.0]).device == tf.Variable(2.0).device == HOST.format(1)
        with tf.device("/job:localhost"):
            assert tf.add(1.0, 2.0).device == "/job:localhost/replica:0/task:0/device:CPU:0"

        @tf.function
        def made() -> Any:
            with tf.device(HOST.format(1)):
                there = tf.constant(3.0) + 1.0
            return there, tf.constant(2.0)

        assert [value.device for value in made()] == [HOST.format(1), HOST.format(0)]
        results = strategy.run(tf.function(lambda: tf.constant(1.0)))
        assert [part.device for part in results.values] == list(extended.worker_devices)


def test_a_device_assignment_names_the_hosts() -> None:
    with tpu.emulated_tpu(8, hosts=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        assignment = tf.tpu.experimental.DeviceAssignment.build(
            topology, computation_shape=[1, 1, 1, 2], num_replicas=4
        )
        hosts = [assignment.host_device(replica, job="worker") for replica in range(4)]
        strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)
        assert strategy.num_replicas_in_sync == 4
        assert strategy.extended.num_hosts == len(set(hosts)) == 2
        result = strategy.run(tf.function(lambda: tf.constant(1.0)))
        actual = [tf.DeviceSpec.from_string(value.device).task for value in result.values]
        assert actual == [tf.DeviceSpec.from_string(host).task for host in hosts]


@pytest.mark.parametrize("hosts", [1, 2, 4])
def test_every_host_has_an_input_pipeline(hosts: int) -> None:
    contexts: list[tuple[int, int, int]] = []

    def dataset(context: Any) -> Any:
        contexts.append(
            (context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync)
        )
        size = context.get_per_replica_batch_size(8)
        return (
            tf.data.Dataset.range(16)
            .shard(context.num_input_pipelines, context.input_pipeline_id)
            .batch(size)
        )

    with pod(hosts) as strategy:
        batches = iter(strategy.distribute_datasets_from_function(dataset))
        assert contexts == [(hosts, number, 4) for number in range(hosts)]
        parts = next(batches).values
        assert [part.device for part in parts] == list(strategy.extended.worker_devices)
        own = [list(range(r * hosts // 4, 16, hosts)) for r in range(4)]
        first = [r % (4 // hosts) * 2 for r in range(4)]
        assert [part.numpy().tolist() for part in parts] == [
            values[start : start + 2] for values, start in zip(own, first)
        ]


def test_a_batch_of_a_dataset_is_shared_by_the_hosts() -> None:
    with pod(2) as strategy:
        dataset = tf.data.Dataset.range(32).batch(8, drop_remainder=True)
        batches = strategy.experimental_distribute_dataset(dataset)
        seen = [local(strategy, batch) for batch in batches]
    assert [sorted(row for part in parts for row in part) for parts in seen] == [
        list(range(start, start + 8)) for start in (0, 8, 16, 24)
    ]
    assert all(len(part) == 2 for parts in seen for part in parts)


@pytest.mark.parametrize(
    ("policy", "of_each_host"),
    [("DATA", [[0, 1, 4, 5], [2, 3, 6, 7]]), ("OFF", [[0, 1, 2, 3], [0, 1, 2, 3]])],
)
def test_a_dataset_that_is_not_sharded_is_read_whole_by_every_host(
    policy: str, of_each_host: list[list[int]]
) -> None:
    """So a program that switches sharding off reaches another loss on a pod than on one host."""
    options = tf.data.Options()
    sharding = tf.data.experimental.AutoShardPolicy[policy]
    options.experimental_distribute.auto_shard_policy = sharding
    with pod(2) as strategy:
        dataset = tf.data.Dataset.range(16).batch(8, drop_remainder=True).with_options(options)
        first = next(iter(strategy.experimental_distribute_dataset(dataset)))
        parts = local(strategy, first)
    assert [parts[0] + parts[1], parts[2] + parts[3]] == of_each_host


def losses(hosts: int) -> tuple[list[float], list[float]]:
    """Train a linear model; return the losses, and the copies of the weight."""
    with pod(hosts) as strategy:
        with strategy.scope():
            weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
            rate = tf.Variable(0.01, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

        def replica_fn(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((weight * x - 1.0) ** 2) / 8.0
            weight.assign_sub(rate * tape.gradient(loss, weight))
            return tpu.outside_compilation(tf.identity, loss)

        @tf.function
        def step(x: Any) -> Any:
            return strategy.reduce("SUM", strategy.run(replica_fn, args=(x,)), axis=None)

        dataset = tf.data.Dataset.range(32, output_type=tf.float32).batch(8, drop_remainder=True)
        batches = strategy.experimental_distribute_dataset(dataset)
        return [float(step(batch)) for batch in batches], [float(value) for value in weight.values]


def test_the_losses_are_those_of_one_host() -> None:
    of_one, weights = losses(1)
    assert len(set(weights)) == 1
    assert len(of_one) == 4
    assert of_one[0] > 0
    for hosts in (2, 4):
        hosts_losses, copies = losses(hosts)
        assert hosts_losses == pytest.approx(of_one, rel=1e-5)
        assert copies == pytest.approx(weights, rel=1e-5)


def test_a_checkpoint_is_restored_on_another_number_of_hosts(tmp_path: Path) -> None:
    with pod(2) as strategy, strategy.scope():
        weight = tf.Variable(3.0)
        path = tf.train.Checkpoint(weight=weight).save(str(tmp_path / "model"))
    with pod(1) as strategy, strategy.scope():
        again = tf.Variable(0.0)
        tf.train.Checkpoint(weight=again).restore(path).assert_consumed()
        assert [float(copy) for copy in again.values] == [3.0] * 4


def test_the_pod_is_there_once_the_program_has_connected() -> None:
    with tpu.emulated_tpu(4, hosts=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        assert resolver.master().startswith("grpc://")
        assert resolver.cluster_spec().num_tasks("worker") == 2
        assert not tf.config.list_logical_devices("TPU")
        with pytest.raises(tf.errors.NotFoundError, match="TPUs not found in the cluster"):
            tf.tpu.experimental.initialize_tpu_system(resolver)
        tf.config.experimental_connect_to_cluster(resolver)
        assert len(tf.config.list_logical_devices("TPU")) == 4
        assert resolver.num_accelerators() == {"TPU": 2}


def test_nothing_is_left_of_a_pod() -> None:
    before = tf.constant(1.0).device, context.context().device_name
    with tpu.emulated_tpu(2):
        with pod(2):
            assert tf.add(1.0, 2.0).device == HOST.format(0)
        assert tf.add(1.0, 2.0).device.startswith("/job:localhost")
        assert len(tf.config.list_logical_devices("TPU")) == 2
    assert (tf.constant(1.0).device, context.context().device_name) == before
    assert not tf.config.list_logical_devices("TPU")


def test_a_session_that_the_pod_serves_has_its_cores() -> None:
    tf1 = tf.compat.v1
    with tpu.emulated_tpu(4, hosts=2), tf.Graph().as_default():
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        with tf1.Session(resolver.master()) as session:
            named = [
                device.name for device in session.list_devices() if device.device_type == "TPU"
            ]
            assert named == [CORE.format(core // 2, core % 2) for core in range(4)]
            session.run(tf1.tpu.initialize_system(job="worker"))
            with tf.device(HOST.format(1)):
                value = tf.constant(2.0) + 1.0
            (results,) = tf1.tpu.batch_parallel(lambda x: x * 2.0, [tf.range(4.0)], num_shards=4)
            assert value.device == HOST.format(1)
            assert session.run(value) == 3.0
            assert session.run(results).tolist() == [0.0, 2.0, 4.0, 6.0]
        with tf1.Session() as session:
            assert not any(device.device_type == "TPU" for device in session.list_devices())


def generated() -> Iterator[float]:
    yield from (0.0,) * 8


def made() -> Any:
    return tf.data.Dataset.from_generator(generated, tf.float32, [])


def mapped() -> Any:
    rows = tf.data.Dataset.range(8)
    return rows.map(lambda x: tf.py_function(lambda y: y, [x], tf.int64))


def called() -> Any:
    function = tf.function(lambda x: tf.numpy_function(lambda y: y, [x], tf.int64))
    return tf.data.Dataset.range(8).map(function)


def shared(strategy: Any, dataset: Any) -> Any:
    return strategy.experimental_distribute_dataset(dataset.batch(4, drop_remainder=True))


def of_each_host(strategy: Any, dataset: Any) -> Any:
    return iter(strategy.distribute_datasets_from_function(lambda _: dataset.batch(4)))


def of_the_master(strategy: Any, dataset: Any) -> Any:
    return iter(dataset)


@pytest.mark.parametrize("distribute", [shared, of_each_host, of_the_master])
@pytest.mark.parametrize("dataset", [made, mapped, called])
def test_python_in_a_pipeline_of_a_pod_is_the_rules_error(dataset: Any, distribute: Any) -> None:
    with pod(2) as strategy:
        with pytest.raises(tpu.HostOnlyInputError) as caught:
            distribute(strategy, dataset())
        assert caught.value.rule == "TPU607"
        assert isinstance(caught.value, tf.errors.NotFoundError)
        assert (caught.value.place or "").rpartition(":")[0] == __file__


def test_false_python_in_a_pipeline_of_the_program_itself() -> None:
    with pod(2), tf.device("/job:localhost"):
        dataset = tf.data.Dataset.from_generator(generated, tf.float32, [])
        assert [float(value) for value in dataset] == [0.0] * 8
    with pod(1) as strategy:
        dataset = tf.data.Dataset.from_generator(generated, tf.float32, []).batch(4)
        assert len(list(strategy.experimental_distribute_dataset(dataset))) == 2


def test_embeddings_are_refused() -> None:
    embedding = tf.tpu.experimental.embedding
    with pod(2) as strategy, strategy.scope():
        table = embedding.TableConfig(4, 1)
        with pytest.raises(NotImplementedError, match="a pod of several hosts"):
            embedding.TPUEmbedding(embedding.FeatureConfig(table=table), embedding.SGD(0.25))
