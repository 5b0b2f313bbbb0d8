"""The TPU that a program finds, and its removal."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context as eager_context
from tensorflow.python.tpu import tpu as tensorflow_tpu
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tpulint.runtime.tensorflow_internals import patching


def cores() -> int:
    return len(tf.config.list_logical_devices("TPU"))


@pytest.mark.parametrize(
    ("asked_for", "mesh"),
    [
        ({"num_replicas": 1}, [1, 1, 1, 1]),
        ({"num_replicas": 2}, [1, 1, 1, 2]),
        ({"num_replicas": 3}, [3, 1, 1, 1]),
        ({"num_replicas": 8}, [2, 2, 1, 2]),
        ({"num_replicas": 4, "cores_per_replica": 2}, [2, 2, 1, 2]),
        ({"topology": "2x2x2"}, [2, 2, 1, 2]),
        ({"topology": "4x4"}, [4, 4, 1, 1]),
        ({"topology": "2x2x4x2"}, [2, 2, 4, 2]),
    ],
)
def test_the_mesh(asked_for: dict[str, Any], mesh: list[int]) -> None:
    with tpu.emulated_tpu(**asked_for):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        assert topology.mesh_shape.tolist() == mesh
        number = topology.num_tasks * topology.num_tpus_per_task
        assert number == cores() == resolver.get_tpu_system_metadata().num_cores
        coordinates = topology.device_coordinates.reshape(-1, 4).tolist()
        assert len({tuple(core) for core in coordinates}) == number
        tf.tpu.experimental.shutdown_tpu_system(resolver)


@pytest.mark.parametrize(
    "asked_for",
    [
        {"num_replicas": 0},
        {"num_replicas": -1},
        {"num_replicas": 2, "topology": "2x2"},
        {"topology": "2x2", "cores_per_replica": 2},
        {"topology": "8"},
        {"topology": "2x0"},
        {"topology": "2x2x2x2x2"},
        {"topology": "two by two"},
    ],
)
def test_what_is_no_tpu_is_refused(asked_for: dict[str, Any]) -> None:
    with (
        pytest.raises(ValueError, match=r"at least one core|either|a topology is"),
        tpu.emulated_tpu(**asked_for),
    ):
        pass
    assert cores() == 0


def places() -> list[Any]:
    """Return the names that the emulator replaces, as they are now."""
    context = eager_context.Context
    return [
        vars(owner).get(name)
        for owner, name in (
            (context, "list_logical_devices"),
            (context, "list_physical_devices"),
            (context, "soft_device_placement"),
            (tf.distribute.cluster_resolver.TPUClusterResolver, "__init__"),
            (tf.distribute.cluster_resolver.TPUClusterResolver, "cluster_spec"),
            (type(tf.constant(0)), "device"),
            (type(tf.constant(0)), "backing_device"),
            (tf.Operation, "device"),
            (tf.Graph, "_apply_device_functions"),
            (pywrap_tfe, "TFE_Py_FastPathExecute"),
            (pywrap_tfe, "TFE_Py_Execute"),
            (tpu_ops, "configure_distributed_tpu"),
            (tensorflow_tpu, "split_compile_and_replicate"),
        )
    ]


def test_nothing_is_left_after_an_error() -> None:
    soft, before = tf.config.get_soft_device_placement(), places()
    with pytest.raises(ZeroDivisionError), tpu.emulated_tpu(num_replicas=2):
        assert cores() == 2
        tf.config.set_soft_device_placement(False)
        tf.tpu.experimental.initialize_tpu_system(
            tf.distribute.cluster_resolver.TPUClusterResolver()
        )
        assert all(now is not then for now, then in zip(places(), before))
        raise ZeroDivisionError
    assert cores() == 0
    assert places() == before
    assert tf.config.get_soft_device_placement() == soft
    with tf.device("/device:TPU:1"):
        assert tf.identity(1.0).device.endswith("CPU:0")


def test_the_inner_one_of_two_is_there() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        with tpu.emulated_tpu(num_replicas=4):
            assert cores() == 4
        assert cores() == 2
    assert cores() == 0


def test_a_program_sees_the_placement_that_it_sets() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        assert tf.config.get_soft_device_placement()
        tf.config.set_soft_device_placement(False)
        assert not tf.config.get_soft_device_placement()
        with tf.device("/device:TPU:1"):
            assert tf.identity(1.0).device.endswith("TPU:1")


def test_what_a_function_makes_on_a_core_says_so() -> None:
    @tf.function
    def made() -> Any:
        with tf.device("/device:TPU:1"):
            on_core = tf.constant(3.0) + 1.0
        return tf.identity(on_core), tf.constant(2.0)

    with tpu.emulated_tpu(num_replicas=2):
        devices = [value.backing_device.rpartition("/device:")[2] for value in made()]
    assert devices[0] == "TPU:1"
    assert devices[1] == "CPU:0"


def test_sessions_see_the_cores_and_initialize_them() -> None:
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470")
        with tf.compat.v1.Session(resolver.master()) as session:
            assert sum(device.device_type == "TPU" for device in session.list_devices()) == 2
            serialized = session.run(tf.compat.v1.tpu.initialize_system())
            assert tf.tpu.experimental.Topology(serialized).num_tpus_per_task == 2
            session.run(tf.compat.v1.tpu.shutdown_system())
        assert tf.distribute.cluster_resolver.TPUClusterResolver().get_tpu_system_metadata()[0] == 2


def test_what_is_replaced_is_put_back() -> None:
    class Base:
        name = "of base"

    class Derived(Base):
        own = 1

    with pytest.raises(ZeroDivisionError), patching.replaced(Derived, "name", "new"):
        with patching.replaced(Derived, "own", 2):
            assert (Derived.name, Derived.own, Base.name) == ("new", 2, "of base")
        assert Derived.own == 1
        raise ZeroDivisionError
    assert "name" not in vars(Derived)
    assert Derived.name == "of base"


def test_a_handler_of_preemption_does_nothing_as_on_a_cloud_tpu(strategy: Any) -> None:
    """On other machines with a TPU it runs an operation that no released TensorFlow has."""
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    try:
        handler = tf.distribute.experimental.PreemptionCheckpointHandler(
            strategy.cluster_resolver, checkpoint, checkpoint_dir="unused"
        )
    except NotImplementedError:  # as on a Cloud TPU, too
        assert tf.__version__.startswith("2.12.")
        return
    with handler.watch_preemption_scope():
        assert handler.run(lambda: 3) == 3
    handler.save_checkpoint_if_preempted()
