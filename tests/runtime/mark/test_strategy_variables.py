"""Variables of a TPUStrategy's scope in a computation have one handle for all copies."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.client.session import _DeviceAttributes
from tensorflow.python.tpu import tpu_system_metadata

from tests.runtime.oracle.building import OURS, THEIRS, assignment
from tests.runtime.oracle.compare import marking_only
from tests.runtime.oracle.snapshot import Snapshot, snapshot

REPLICAS = 2


class Resolver(tf.distribute.cluster_resolver.ClusterResolver):
    """A resolver of TPU cores in this process, which is enough to build a strategy for them."""

    def __init__(self) -> None:
        self._tpu_topology = assignment(REPLICAS, 1).topology

    def get_tpu_system_metadata(self) -> Any:
        names = [f"/job:localhost/replica:0/task:0/device:TPU:{i}" for i in range(REPLICAS)]
        return tpu_system_metadata.TPUSystemMetadata(
            num_cores=REPLICAS,
            num_hosts=1,
            num_of_cores_per_host=REPLICAS,
            topology=self._tpu_topology,
            devices=[_DeviceAttributes(name, "TPU", 0, 0) for name in names],
        )

    def cluster_spec(self) -> Any:
        return tf.train.ClusterSpec({})

    def master(self, *_: Any, **__: Any) -> str:
        return ""

    def num_accelerators(self, *_: Any, **__: Any) -> Any:
        return {"TPU": REPLICAS}

    def get_job_name(self) -> str:
        return "localhost"

    @property
    def tpu_hardware_feature(self) -> Any:
        return None


@pytest.fixture
def strategy() -> Any:
    tf.config.set_soft_device_placement(True)
    return tf.distribute.TPUStrategy(Resolver())


def marks(api: Any, strategy: Any, variable: Any, assigned: bool) -> Snapshot:
    actual = []

    @tf.function(autograph=False)
    def step() -> None:
        def computation() -> Any:
            variable.assign_add(1.0)
            return variable.read_value() + variable * 2.0

        with strategy.scope(), marking_only():
            cores = assignment(REPLICAS, 1) if assigned else None
            api.replicate(computation, [[]] * REPLICAS, device_assignment=cores)
        actual.append(snapshot(tf.compat.v1.get_default_graph()))

    step.get_concrete_function()
    return actual[0]


@pytest.mark.parametrize("assigned", [False, True])
@pytest.mark.parametrize(
    ("synchronization", "aggregation"),
    [
        (tf.VariableSynchronization.AUTO, tf.VariableAggregation.MEAN),
        (tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM),
    ],
)
def test_the_copies_have_one_handle(
    strategy: Any, assigned: bool, synchronization: Any, aggregation: Any
) -> None:
    with strategy.scope():
        variable = tf.Variable(
            1.0, name="copied", synchronization=synchronization, aggregation=aggregation
        )
    ours = marks(OURS, strategy, variable, assigned)
    theirs = marks(THEIRS, strategy, variable, assigned)
    assert any("TPUReplicatedInput" in node for node in ours.nodes.values())
    assert set(ours.nodes) == set(theirs.nodes)
    assert ours == theirs
