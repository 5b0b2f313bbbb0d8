"""Hosts of an emulated pod that are processes on this machine, and what such a process runs.

A host is TensorFlow's server. The process that started it reads its address from its standard
output, and it ends when its standard input does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import tensorflow as tf

from tpulint.runtime.pods import devices
from tpulint.runtime.tensorflow_internals.graphs import wrap_function
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
        [sys.executable, "-c", f"from {__name__} import serve_until_end; serve_until_end()"],
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


# How much such a process computes.

_STATUS = "/proc/self/stat"
"""What Linux tells a process about itself."""
_TICKS_PER_SECOND = 100


def read_statuses() -> list[Any]:
    """Return what the system of each host tells about its process, a string; "" where it does not.

    The hosts are those of the emulated pod, if they are processes.
    """
    hosts = map(devices.current_pod().host, range(devices.current_pod().num_hosts))
    targets = [devices.remote_device(f"{host}/device:CPU:0") for host in hosts]
    if tf.executing_eagerly():
        return list(map(_read_eagerly, targets))
    read = wrap_function(_read_status, [tf.string])
    statuses: list[Any] = []
    with devices.on_coordinator():
        for target in targets:
            # One after another: in a session, a call that begins moves what another one that
            # begins reads (ClusterFunctionLibraryRuntime::Run keeps a pointer into a vector), and
            # TensorFlow aborts the process.
            with tf.control_dependencies(statuses[-1:]):
                statuses += tf.raw_ops.RemoteCall(
                    target=target, args=[_STATUS], Tout=[tf.string], f=read
                )
    return statuses


def _read_eagerly(target: str) -> Any:
    with tf.device(target):
        return _read_status(_STATUS)


def _read_status(name: Any) -> Any:
    return tf.cond(
        tf.size(tf.raw_ops.MatchingFiles(pattern=name)) > 0,
        lambda: tf.raw_ops.ReadFile(filename=name),
        lambda: tf.constant(""),
    )


def processor_seconds(status: bytes) -> float | None:
    """Return the processor time of a process with that status, or None where it says nothing."""
    # The name of the process is in parentheses, and may contain anything.
    fields = status.rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND if fields else None


# What such a process runs.

JOB = "tpulint_worker"
"""The job's name until a program connects, and names it. A session would refuse to name it so."""


def serve(port: int) -> str:
    """Start a server at `port` of all interfaces, or at a free one if it is 0; return its address.

    TensorFlow cannot end it: it runs until the process does. Whoever connects names the hosts, so
    it does not matter that it calls itself the first one.

    Raises:
        OSError: the port is not free.
    """
    os.environ.setdefault("GRPC_FAIL_FAST", "true")  # or it waits for hosts that are gone
    address = f"localhost:{port}"
    try:
        server = tf.distribute.Server({JOB: [address]}, job_name=JOB, task_index=0)
    except tf.errors.OpError as error:
        raise OSError(f"no server can listen at port {port}: {error.message}") from error
    _servers.append(server)
    return str(server.target).rpartition("://")[2]


_servers: list[tf.distribute.Server] = []
"""The servers of this process; TensorFlow refuses to delete one."""


def serve_until_end() -> None:
    """Serve at a free port, and end with the process that holds the other end of the input."""
    print(serve(0), flush=True)
    sys.stdin.read()
    os._exit(0)  # TensorFlow's server would hold up the end of the interpreter
