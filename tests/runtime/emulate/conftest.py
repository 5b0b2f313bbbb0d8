"""No test here may hang: a watchdog ends the whole run, with the stacks of all threads."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu

SECONDS = 280.0


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def strategy() -> Iterator[Any]:
    """Yield a TPUStrategy on two cores."""
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)
