"""The emulated TPU's devices: their names, what is placed on them, and the process that runs it."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.tensorflow_internals.modules import eager_context, ops, pydev
from tpulint.runtime.tensorflow_internals.patching import emulated_patch

LOCAL = "localhost"
COORDINATOR = "coordinator"
# The port of the workers of a Cloud TPU. Programs print the addresses; nothing connects to these.
_PORT = 8470
_HERE = "/job:localhost/replica:0/task:0"
# A scope may name all cores, as `TPU:*`, or the device that controls them, `TPU_SYSTEM`.
CORE = re.compile(r"device:TPU(_SYSTEM)?:[\d*]+")


@dataclass
class Pod:
    """The hosts of the emulated TPU, and the job by which the program knows them.

    One host is this process; several are tasks of a job, to which the program connects. They are
    in this process, too, or each is a TensorFlow server at one of the addresses `workers`.
    """

    num_hosts: int
    cores_per_host: int
    job: str = "worker"
    is_connected: bool = False
    name: str = "emulated"
    workers: tuple[str, ...] = ()
    is_apart: bool = False

    @property
    def is_remote(self) -> bool:
        """Return whether the hosts are other machines to the program."""
        return self.is_apart or self.num_hosts > 1 or bool(self.workers)

    @property
    def addresses(self) -> list[str]:
        """Return the address of each host; if the hosts are in this process, nothing is there."""
        return list(self.workers) or self._made_up

    @property
    def masters(self) -> list[str]:
        """Return the addresses that sessions can name.

        Those made up are among them: they are known before the processes have some.
        """
        return self.addresses + self._made_up

    @property
    def _made_up(self) -> list[str]:
        return [f"localhost:{_PORT + host}" for host in range(self.num_hosts)]

    @property
    def devices(self) -> list[str]:
        """Return the devices that one host adds to this process's, or all those of several."""
        cores = range(self.cores_per_host)
        if not self.is_remote:
            return [self.core(number) for number in cores]
        kinds = ("CPU:0", *(f"TPU:{core}" for core in cores), "TPU_SYSTEM:0")
        hosts = map(self.host, range(self.num_hosts))
        return [f"{host}/device:{kind}" for host in hosts for kind in kinds]

    def host(self, number: int) -> str:
        """Return the name of a host, without a device."""
        return f"/job:{self.job}/replica:0/task:{number}" if self.is_remote else _HERE

    def host_of_core(self, number: int) -> str:
        """Return the name of the host of a core."""
        return self.host(number // self.cores_per_host)

    def core(self, number: int) -> str:
        """Return the name of a core."""
        return f"{self.host_of_core(number)}/device:TPU:{number % self.cores_per_host}"


_NO_POD = Pod(1, sys.maxsize, job="")
"""What stands for the hosts where no TPU is emulated: this one has all cores, and no other name.

Nothing may list its `devices`, which have no end.
"""


def current_pod() -> Pod:
    """Return the hosts of the emulated TPU, or `_NO_POD`."""
    opened = emulator.current()
    return opened.part(Pod) if opened else _NO_POD


def cores_of_a_host(otherwise: int) -> int:
    """Return the number of cores that a host of the emulated pod has; `otherwise` without one."""
    pod = current_pod()
    return pod.cores_per_host if pod.is_remote else otherwise


def remote_host_of_core(core: int) -> str | None:
    """Return the name of the host that has `core` of the emulated pod; None if it has one host."""
    pod = current_pod()
    return pod.host_of_core(core) if pod.is_remote else None


def job_of_cores() -> str:
    """Return the job that the cores belong to."""
    pod = current_pod()
    return pod.job if pod.is_remote else LOCAL


def is_emulated(device: str) -> bool:
    """Return whether `device` is a core, or one of a host that is a machine of its own."""
    return bool(CORE.search(device)) or is_on_pod(device)


def is_master(target: str | bytes | None) -> bool:
    """Return whether a session with this `target` is served by a host of the pod."""
    pod = current_pod()
    if not target or not pod.is_remote:
        return False
    name = target.decode() if isinstance(target, bytes) else target
    return name.rpartition("://")[2] in pod.masters


def is_on_pod(device: str) -> bool:
    """Return whether `device` is of one of several hosts; a task without a job is theirs."""
    pod = current_pod()
    if not device or not pod.is_remote:
        return False
    spec = spec_of(device)
    # TensorFlow takes a device without a task for one of the first task.
    is_task = spec.job == pod.job or (spec.job is None and spec.task is not None)
    return is_task and (spec.task or 0) < pod.num_hosts


def names_only_host(device: str) -> bool:
    """Return whether `device` is of the only host, by the name that it has on a TPU node.

    Programs say "/job:worker" there; the host is this process.
    """
    pod = current_pod()
    if not device or pod.is_remote:
        return False
    spec = spec_of(device)
    return spec.job == pod.job and not spec.task


def is_on_connected_host(device: str | None) -> bool:
    """Return whether `device` is of a host that the program is connected to."""
    if not device:
        return False
    return names_only_host(device) or (is_on_pod(device) and current_pod().is_connected)


def host_of(device: str) -> str:
    """Return the CPU of the host that has `device`."""
    cpu: str = spec_of(device).replace(device_type="CPU", device_index=0).to_string()
    return cpu


# Each eager operation asks for the parts of its device, and a program has few devices.
@functools.lru_cache(maxsize=4096)
def spec_of(device: str) -> pydev.DeviceSpec:
    """Return the parts of the name of a device."""
    return pydev.DeviceSpec.from_string(device)


COORDINATORS_CPU = f"/job:{LOCAL}/replica:0/task:0/device:CPU:0"


def hosts_are_remote() -> bool:
    """Return whether what is built or run now runs in the processes of the hosts.

    What is run at once does when the program has connected to them; for a graph its session does.
    """
    pod = current_pod()
    if not pod.workers:
        return False
    return pod.is_connected or not tf.compat.v1.executing_eagerly_outside_functions()


def executing_device(device: str) -> str:
    """Return the device that runs what is placed on `device`: of its host's process, or of this."""
    return (
        remote_device(device) if is_on_pod(device) and hosts_are_remote() else local_device(device)
    )


def remote_device(device: str) -> str:
    """Return the device of a host's process that runs what is placed on `device`, of any job."""
    spec = spec_of(device)
    remote = spec.replace(job=current_pod().job, replica=0, task=spec.task or 0)
    return CORE.sub("device:CPU:0", remote.to_string())


def local_device(device: str) -> str:
    """Return the device of this process that runs what is placed on `device`."""
    if is_on_pod(device) or names_only_host(device):
        spec = spec_of(device)
        device = spec.replace(job=LOCAL, replica=0, task=0).to_string()
    return CORE.sub("device:CPU:0", device)


@contextlib.contextmanager
def on_coordinator() -> Iterator[None]:
    """Place what is built in the context in this process, if the hosts are apart from it."""
    with tf.device(COORDINATORS_CPU) if hosts_are_remote() else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def on_host_of_core(core: int) -> Iterator[None]:
    """Place what is built in the context on the host of `core`, if that is a process of its own."""
    pod = current_pod() if hosts_are_remote() else None
    with tf.device(f"{pod.host_of_core(core)}/device:CPU:0") if pod else contextlib.nullcontext():
        yield


PLACED = "_tpulint_core"
"""The attribute of an operation or tensor that holds the device that was asked for."""
_VERSION = "_tpulint_placed"
_PLACING = threading.Lock()
_FIRST_TASK = re.compile(r"/job:(?!localhost(/|$))[^/]+(/replica:0)?(/task:0)?(?=/device|$)")
_ON_CPU = "operations of graphs that are placed on emulated cores run on the CPU, and report them"
_ON_HOSTS = "the hosts of a pod are processes, or this one, and the program sees them as machines"
_OPS = "tensorflow.python.framework.ops"
_device_of = ops.Operation.device.fget
"""TensorFlow's own: the device on which an operation runs."""


@emulated_patch(f"{_OPS}.Graph._apply_device_functions", why=_ON_CPU)
def _apply_device_functions(original: Callable[..., None], self: Any, op: Any) -> None:
    """Place an operation on the CPU, and let it report the device that the program has named.

    Soft placement would not do: it is off in the sessions of programs that give a `ConfigProto`,
    and it refuses operations colocated with a device that does not exist.
    """
    original(self, op)
    if isinstance(op, ops.Operation):
        asked_for = _device_of(op)
        _place(op, asked_for, executing_device(asked_for))


@emulated_patch(f"{_OPS}.Operation._set_device", why=_ON_CPU)
def _set_device(original: Callable[..., None], self: Any, asked_for: Any) -> None:
    original(self, asked_for)  # that of an operation with which it is colocated
    if hasattr(self, PLACED):
        delattr(self, PLACED)
    _place(self, _device_of(self), executing_device(_device_of(self)))


@emulated_patch("tensorflow.python.client.session.BaseSession._extend_graph", why=_ON_CPU)
def _extend_graph(original: Callable[..., None], self: Any) -> None:
    if not self._target:  # this process serves it, and has no other job
        _place_jobs_here(self._graph)
    original(self)


@emulated_patch(f"{_OPS}.Operation.device", why=_ON_CPU)
def asked_for_device(original: Callable[[Any], Any], self: Any) -> Any:
    """Return the device that the program has named, if there is one, or else the `original`."""
    return getattr(self, PLACED, None) or original(self)


@emulated_patch(f"{_OPS}.SymbolicTensor.device", why=_ON_CPU, since="2.15")
def _device_of_tensor(_: Callable[[Any], Any], self: Any) -> Any:
    return self.op.device  # as in 2.12


def _place_jobs_here(graph: Any) -> None:
    """Place on this process the operations that `graph` has for the first task of any job.

    That is where the host of a TPU is in a program that names it; and graphs that were imported
    name devices, too.
    """
    with _PLACING:  # an operation that a session knows must not be placed once more
        if getattr(graph, _VERSION, 0) == graph.version:
            return
        for op in graph.get_operations():
            asked_for = _device_of(op)
            if asked_for:
                here = _FIRST_TASK.sub("/job:localhost/replica:0/task:0", local_device(asked_for))
                _place(op, asked_for, here)
        setattr(graph, _VERSION, graph.version)


def _place(op: tf.Operation, asked_for: str, device: str) -> None:
    if device != asked_for:
        setattr(op, PLACED, asked_for)
        op._set_device_from_string(device)


_CONTEXT = "tensorflow.python.eager.context.Context"


@emulated_patch(f"{_CONTEXT}.device_name", why=_ON_HOSTS)
def _device_name(original: Callable[[Any], str | None], self: Any) -> Any:
    # The program sees the scopes that it enters; TensorFlow's C++ sees where that runs.
    name = original(self)
    asked_for: str = self.device_spec.to_string() if name else ""
    is_of_host = bool(name) and (current_pod().is_connected or names_only_host(asked_for))
    return asked_for if is_of_host else name


@emulated_patch(f"{_CONTEXT}._set_device", why=_ON_HOSTS)
def _enter_device(original: Callable[..., None], self: Any, name: Any, spec: Any) -> None:
    original(self, executing_device(name) if is_on_connected_host(name) else name, spec)


@emulated_patch("tensorflow.python.framework.constant_op.convert_to_eager_tensor", why=_ON_HOSTS)
def _convert_to_eager_tensor(
    original: Callable[..., Any], value: Any, ctx: Any, dtype: Any = None
) -> Any:
    asked_for = ctx.device_name
    if not is_on_connected_host(asked_for):
        return original(value, ctx, dtype)
    # The part of TensorFlow's context that makes a constant, on a device that it knows.
    here = SimpleNamespace(
        device_name=executing_device(asked_for), ensure_initialized=ctx.ensure_initialized
    )
    tensor = original(value, here, dtype)
    if tensor is not value:
        setattr(tensor, PLACED, asked_for)
    return tensor


@emulated_patch(f"{_OPS}.EagerTensor._copy_nograd", why=_ON_HOSTS)
def _copy_nograd(
    original: Callable[..., Any], self: Any, ctx: Any = None, device_name: Any = None
) -> Any:
    asked_for = device_name or eager_context.context().device_name
    return original(
        self, ctx, executing_device(asked_for) if is_on_connected_host(asked_for) else device_name
    )


@emulated_patch("tensorflow.python.ops.functional_ops.remote_call", why=_ON_HOSTS)
def _remote_call(original: Callable[..., Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    value = tf.get_static_value(target) if isinstance(target, tf.Tensor) else target
    name = value.decode() if isinstance(value, bytes) else value
    here = executing_device(name) if isinstance(name, str) and is_on_pod(name) else target
    return original(here, *args, **kwargs)
