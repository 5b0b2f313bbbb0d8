"""A pytest plugin: the hosts of each pod that a test emulates are processes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import tpulint.runtime as tpu

HOSTS = 4
_in_this_process = tpu.emulated_tpu
_workers: list[str] = []


def emulated_tpu(*arguments: Any, hosts: int = 1, **named: Any) -> AbstractContextManager[None]:
    """Emulate a TPU; a pod has as many of the workers, which are started once, as it has hosts."""
    if not 1 < hosts <= HOSTS:
        return _in_this_process(*arguments, hosts=hosts, **named)
    if not _workers:
        _workers.extend(tpu.start_workers(HOSTS))
    return _in_this_process(*arguments, **{**named, "workers": _workers[:hosts]})


def pytest_configure() -> None:
    tpu.emulated_tpu = emulated_tpu
