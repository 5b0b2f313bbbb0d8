"""The process that runs what is placed on the emulated TPU: this one, or a host of the pod."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.pods import (
    CORE,
    LOCAL,
    current_pod,
    is_connected_to_workers,
    on_pod,
    spec_of,
)

COORDINATORS_CPU = f"/job:{LOCAL}/replica:0/task:0/device:CPU:0"


def hosts_are_apart() -> bool:
    """Return whether what is built or run now runs in the processes of the hosts.

    A session and its graph are this process's.
    """
    return is_connected_to_workers() and bool(tf.compat.v1.executing_eagerly_outside_functions())


def run_by(device: str) -> str:
    """Return the device that runs what is placed on `device`: of its host's process, or of this."""
    if on_pod(device) and hosts_are_apart():
        spec = spec_of(device)
        there = spec.replace(job=current_pod().job, replica=0, task=spec.task or 0)
        return CORE.sub("device:CPU:0", there.to_string())
    return run_here(device)


def run_here(device: str) -> str:
    """Return the device of this process that runs what is placed on `device`."""
    if on_pod(device):
        spec = spec_of(device)
        device = spec.replace(job=LOCAL, replica=0, task=0).to_string()
    return CORE.sub("device:CPU:0", device)


@contextlib.contextmanager
def on_coordinator() -> Iterator[None]:
    """Place what is built in the context in this process, if the hosts are apart from it."""
    with tf.device(COORDINATORS_CPU) if hosts_are_apart() else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def on_host_of_core(core: int) -> Iterator[None]:
    """Place what is built in the context on the host of `core`, if that is a process of its own."""
    pod = current_pod() if hosts_are_apart() else None
    with tf.device(f"{pod.host_of_core(core)}/device:CPU:0") if pod else contextlib.nullcontext():
        yield
