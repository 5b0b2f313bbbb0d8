"""Strategies on emulated TPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

import tpulint.runtime as tpu


@contextmanager
def pod(hosts: int = 1, cores: int = 4, workers: Sequence[str] = ()) -> Iterator[Any]:
    """Yield a TPUStrategy on all cores; `workers` are the addresses of hosts that are processes."""
    with tpu.emulated_tpu(cores, hosts=hosts, workers=workers):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)
