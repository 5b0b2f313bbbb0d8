"""Hosts of an emulated pod that are processes on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from tpulint.storage.session import storage_environment

START_TIMEOUT_SECONDS = 120.0
"""Seconds in which a process has to import TensorFlow and to serve."""
# Of the process: a host ends with it, and not with an emulator.
_processes: list[subprocess.Popen[str]] = []


def start_workers(count: int) -> tuple[str, ...]:
    """Start `count` processes, each a host of a pod, and return their addresses ("host:port").

        workers = tpulint.runtime.start_workers(2)
        with tpulint.runtime.emulated_tpu(num_replicas=8, workers=workers):

    They end with this process, however that ends: TensorFlow holds on to the values that are with
    them. They are TensorFlow's servers, which listen on all interfaces of this machine and run
    what anyone sends them: start them in networks that you trust.

    Raises:
        ValueError: `count` is not positive.
        RuntimeError: a process did not start.
    """
    if count < 1:
        raise ValueError(f"a pod has at least one host, not {count}")
    started = [_started() for _ in range(count)]
    try:
        addresses = tuple([_address(process) for process in started])
    except BaseException:
        for process in started:
            process.kill()
        raise
    _processes.extend(started)
    return addresses


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tpulint.runtime.pods.server"],
        stdin=subprocess.PIPE,  # its end is the end of this process
        stdout=subprocess.PIPE,
        text=True,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, **storage_environment()},
        start_new_session=True,  # Ctrl-C is for the program
    )


def _address(process: subprocess.Popen[str]) -> str:
    timer = threading.Timer(START_TIMEOUT_SECONDS, process.kill)
    timer.start()
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
    finally:
        timer.cancel()
    if not address:
        raise RuntimeError("a process for a host of the pod has not started: see its output above")
    return address
