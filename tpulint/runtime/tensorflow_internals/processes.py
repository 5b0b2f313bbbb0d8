"""The process that runs what is placed on the emulated TPU: this one, or a host of the pod."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.pods import (
    CORE,
    LOCAL,
    current_pod,
    has_workers,
    is_connected_to_workers,
    names_only_host,
    on_pod,
    spec_of,
)

COORDINATORS_CPU = f"/job:{LOCAL}/replica:0/task:0/device:CPU:0"


def hosts_are_apart() -> bool:
    """Return whether what is built or run now runs in the processes of the hosts.

    What is run at once does when the program has connected to them; for a graph its session does.
    """
    if tf.compat.v1.executing_eagerly_outside_functions():
        return is_connected_to_workers()
    return has_workers()


def run_by(device: str) -> str:
    """Return the device that runs what is placed on `device`: of its host's process, or of this."""
    return run_there(device) if on_pod(device) and hosts_are_apart() else run_here(device)


def run_there(device: str) -> str:
    """Return the device of a host's process that runs what is placed on `device`, of any job."""
    spec = spec_of(device)
    there = spec.replace(job=current_pod().job, replica=0, task=spec.task or 0)
    return CORE.sub("device:CPU:0", there.to_string())


def inline_call(call: tf.Operation) -> None:
    """Let TensorFlow put what `call` calls in its place, if the hosts are apart.

    In sessions of 2.12 a call on one host would not hear that another one's has failed.
    """
    if hosts_are_apart():
        call._set_attr("_lower_as_multi_device_function", tf.compat.v1.AttrValue(b=True))


def run_here(device: str) -> str:
    """Return the device of this process that runs what is placed on `device`."""
    if on_pod(device) or names_only_host(device):
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
