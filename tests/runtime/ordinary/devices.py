"""The devices of the programs: two cores of a TPU, or two CPU devices of TensorFlow's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

tf1 = tf.compat.v1
ON_TPU = os.environ["ORDINARY_DEVICES"] == "tpu"
REPLICAS = 2

if not ON_TPU:
    (_cpu,) = tf.config.list_physical_devices("CPU")
    _two = [tf.config.LogicalDeviceConfiguration()] * REPLICAS
    tf.config.set_logical_device_configuration(_cpu, _two)


def make_strategy() -> tf.distribute.Strategy:
    """Return a new strategy, on a TPU that has just been initialized."""
    if not ON_TPU:
        devices = [f"CPU:{number}" for number in range(REPLICAS)]
        # A step that fails aborts TensorFlow's collectives for the rest of the process.
        return tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice())
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def initialize(session: tf1.Session) -> None:
    """Initialize the TPU, and the variables of the graph."""
    if ON_TPU:
        session.run(tf1.tpu.initialize_system())
    session.run(tf1.global_variables_initializer())


def replicated(computation: Callable[..., Any], inputs: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the result of `computation` for each replica, in the graph of a session."""
    if ON_TPU:
        return [result[0] for result in tf1.tpu.replicate(computation, inputs)]
    return [computation(*arguments) for arguments in inputs]
