"""The hosts that all tests of a process share, each a process of its own.

As a pytest plugin: the hosts of each pod that a test emulates are these.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

import tpulint.runtime as tpu
from tpulint.runtime.pods import workers as processes

HOSTS = 4
_in_this_process = tpu.emulated_tpu


@functools.cache
def shared_workers() -> tuple[tuple[str, ...], list[int]]:
    """Start the hosts; return their addresses, and the numbers of their processes."""
    addresses = tpu.start_workers(HOSTS)
    return addresses, [process.pid for process in processes._processes[-HOSTS:]]


def emulated_tpu(*arguments: Any, hosts: int = 1, **named: Any) -> AbstractContextManager[None]:
    """Emulate a TPU; a pod has as many of the shared hosts as it is to have."""
    if not 1 < hosts <= HOSTS:
        return _in_this_process(*arguments, hosts=hosts, **named)
    return _in_this_process(*arguments, **{**named, "workers": shared_workers()[0][:hosts]})


def pytest_configure() -> None:
    tpu.emulated_tpu = emulated_tpu
