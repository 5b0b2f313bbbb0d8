"""Faults on a pod of several hosts: the errors name the host of each replica."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu import device_assignment
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu

HOSTS = ["/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]


def connected() -> Any:
    """Return the topology of the emulated pod, to which the program connects."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-pod")
    tf.config.experimental_connect_to_cluster(resolver)
    return tf.tpu.experimental.initialize_tpu_system(resolver)


def replicated(computation: Any, inputs: Any, **how: Any) -> Any:
    """Return what the replicas return, of which each has one of `inputs`."""

    @tf.function
    def step() -> Any:
        return tpu.replicate(computation, inputs, **how)

    return step()


def meets_if_positive(x: Any) -> Any:
    return tf.cond(x > 0.0, lambda: tpu_ops.cross_replica_sum(x), lambda: x)


def diverging(**how: Any) -> Any:
    """Run four replicas, of which the first alone never comes."""
    values = [[tf.constant(value)] for value in (-1.0, 1.0, 1.0, 1.0)]
    return replicated(meets_if_positive, values, **how)


def test_a_divergence_names_the_hosts_of_the_replicas() -> None:
    with tpu.emulated_tpu(4, hosts=4), pytest.raises(tpu.DivergentCollectiveError) as caught:
        connected()
        diverging()
    absent = f"replica 0 ({HOSTS[0]})"
    assert f"for {absent} (" in str(caught.value)
    assert f"{absent}: has taken another branch" in str(caught.value)
    replica, _, task = str(caught.value).split("  replica ")[1].partition(" (")
    assert task.startswith(f"/job:worker/replica:0/task:{replica}): waits in CrossReplicaSum")


def test_a_device_assignment_decides_the_host() -> None:
    with tpu.emulated_tpu(4, hosts=2), pytest.raises(tpu.DivergentCollectiveError) as caught:
        topology = connected()
        cores = topology.device_coordinates.reshape(4, 1, 4)[::-1]
        diverging(device_assignment=device_assignment.DeviceAssignment(topology, cores))
    assert f"replica 0 ({HOSTS[1]}): has taken another branch" in str(caught.value)


def test_a_deadlock_names_the_host_of_its_replica() -> None:
    with tpu.emulated_tpu(2, hosts=2), pytest.raises(tpu.DeadlockError) as caught:
        connected()
        total = tf.Variable(0.0)

        def computation() -> Any:
            added = total.assign_add(1.0)
            return added + tpu.outside_compilation(lambda x: total + x, added)

        replicated(computation, [[], []])
    named = [f"Deadlock in replica {number} ({HOSTS[number]}) over" for number in range(2)]
    assert any(name in str(caught.value) for name in named)


def test_a_wait_for_an_infeed_names_the_host() -> None:
    with tpu.emulated_tpu(2, hosts=2), tpu.options(deadline=0.5):
        connected()

        def computation() -> Any:
            return tpu_ops.infeed_dequeue(tf.float32, [])

        with pytest.raises(tpu.DeadlockError) as caught:
            replicated(computation, [[], []])
    for replica, host in enumerate(HOSTS):
        assert f"replica {replica} ({host}): waits in InfeedDequeue" in str(caught.value)


def test_one_host_has_no_name() -> None:
    with tpu.emulated_tpu(4), pytest.raises(tpu.DivergentCollectiveError) as caught:
        connected()
        diverging()
    assert "  replica 0: has taken another branch" in str(caught.value)


def of_the_program(x: Any) -> Any:
    return tf.numpy_function(np.negative, [x], tf.float32)


def in_a_branch(x: Any) -> Any:
    return tf.cond(x > 0.0, lambda: of_the_program(x), lambda: x)


@pytest.mark.parametrize("function", [of_the_program, in_a_branch])
def test_a_host_cluster_on_another_machine_cannot_call_python(function: Any) -> None:
    with tpu.emulated_tpu(2, hosts=2), pytest.raises(tpu.HostPythonError) as caught:
        connected()
        replicated(lambda x: tpu.outside_compilation(function, x), [[tf.constant(1.0)]] * 2)
    assert caught.value.rule == "TPU501"
    assert isinstance(caught.value, tf.errors.NotFoundError)
    assert "No registered 'PyFunc' OpKernel on the hosts '/job:worker'" in str(caught.value)
    line = of_the_program.__code__.co_firstlineno + 1
    assert (caught.value.place or "").endswith(f"test_hosts_errors.py:{line}")


def test_a_host_cluster_on_this_machine_calls_python() -> None:
    with tpu.emulated_tpu(2):
        connected()
        values = [[tf.constant(1.0)], [tf.constant(2.0)]]
        results = replicated(lambda x: tpu.outside_compilation(of_the_program, x), values)
    assert [float(value) for (value,) in results] == [-1.0, -2.0]
