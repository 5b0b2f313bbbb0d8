"""TensorFlow's devices, resolvers and systems, replaced for an emulated TPU."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    failure_handling_util,
    session,
    topology_pb2,
    tpu_cluster_resolver,
    tpu_ops,
    tpu_strategy_util,
)
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import current_pod
from tpulint.runtime.tensorflow_internals.sessions import is_on_emulated_tpu

EagerContext = eager_context.Context
_LogicalDevice = eager_context.LogicalDevice
_PhysicalDevice = eager_context.PhysicalDevice
_CALLED = "_tpulint_called"
"""The attribute of a resolver that holds the name that the program gives to the TPU."""
_CONTEXT = "tensorflow.python.eager.context.Context"


@contextlib.contextmanager
def cores_listed() -> Iterator[None]:
    """Let TensorFlow list the emulated cores beside its devices in the context.

    Those of a pod are remote devices: they are there, with their hosts, once the program has
    connected to it, and in sessions that it serves.
    """
    context, sessions = eager_context.Context, session.BaseSession
    logical, physical = context.list_logical_devices, context.list_physical_devices
    of_session = sessions.list_devices

    def list_logical_devices(self: Any, device_type: str | None = None) -> list[Any]:
        found: list[Any] = logical(self, device_type)
        pod = current_pod()
        if not pod.is_remote:
            names = [f"/device:TPU:{core}" for core in range(pod.cores_per_host)]
        else:
            names = pod.devices if pod.is_connected else []
        known = {device.name for device in found}  # the hosts of a pod that are processes
        listed = [_LogicalDevice(name, name.split(":")[-2]) for name in names if name not in known]
        return found + [each for each in listed if device_type in (None, each.device_type)]

    def list_physical_devices(self: Any, device_type: str | None = None) -> list[Any]:
        found: list[Any] = physical(self, device_type)
        pod = current_pod()
        if device_type in (None, "TPU") and not pod.is_remote:
            names = (f"/physical_device:TPU:{core}" for core in range(pod.cores_per_host))
            found += [_PhysicalDevice(name, "TPU") for name in names]
        return found

    def list_devices(self: Any) -> list[Any]:
        found: list[Any] = of_session(self)
        known = {device.name for device in found}  # the hosts of a pod that are processes
        names = current_pod().devices if is_on_emulated_tpu(self) else []
        return found + [
            session._DeviceAttributes(name, name.split(":")[-2], 0, 0)
            for name in names
            if name not in known
        ]

    with (
        patched("tensorflow.python.client.session.BaseSession.list_devices", list_devices),
        patched(f"{_CONTEXT}.list_logical_devices", list_logical_devices),
        patched(f"{_CONTEXT}.list_physical_devices", list_physical_devices),
    ):
        yield


@contextlib.contextmanager
def soft_placement() -> Iterator[None]:
    """Place operations meant for devices that do not exist on the CPU in the context.

    Programs set and read `tf.config.set_soft_device_placement` as usual.
    """
    context = eager_context.context()
    real = eager_context.Context.soft_device_placement
    at_first = context._soft_device_placement
    said: list[bool | None] = [at_first]

    def get(self: Any) -> bool:
        return bool(self.executing_eagerly() if said[0] is None else said[0])

    def set_(self: Any, enable: bool) -> None:
        said[0] = enable

    real.fset(context, True)
    try:
        with patched(f"{_CONTEXT}.soft_device_placement", property(get, set_)):
            yield
    finally:
        real.fset(context, True if at_first is None else at_first)
        context._soft_device_placement = at_first


@contextlib.contextmanager
def cluster_resolvers(initialized: Callable[[str], None]) -> Iterator[None]:
    """Make every TPUClusterResolver in the context resolve to the emulated TPU.

    A TPU of one host is of this machine, whatever it is called, and a pod never is.
    `initialized(name)` is called when the program has initialized the TPU that it calls so.
    """
    kind = tpu_cluster_resolver.TPUClusterResolver
    resolver = f"{kind.__module__}.{kind.__name__}"
    set_topology = kind.set_tpu_topology

    def __init__(
        self: Any,
        tpu: Any = None,
        zone: Any = None,
        project: Any = None,
        job_name: str = "worker",
        *_: Any,
        **__: Any,
    ) -> None:
        pod = current_pod()
        self._cloud_tpu_client = tpu_cluster_resolver._LocalCloudTpuClient()
        self._tpu = pod.name if pod.is_remote else "local"
        if pod.is_remote and not pod.is_connected:
            pod.job = job_name
        self.task_type = job_name
        self.task_id = 0
        self._tpu_topology = None
        setattr(self, _CALLED, str(tpu or "local"))

    @functools.wraps(set_topology)
    def set_tpu_topology(self: Any, serialized: bytes) -> None:
        set_topology(self, serialized)
        initialized(getattr(self, _CALLED))

    def cluster_spec(self: Any) -> Any:
        # Programs print the addresses in it.
        return tf.train.ClusterSpec({self.task_type: current_pod().addresses})

    with (
        patched(f"{resolver}.__init__", __init__),
        patched(f"{resolver}.cluster_spec", cluster_spec),
        patched(f"{resolver}.set_tpu_topology", set_tpu_topology),
    ):
        yield


@contextlib.contextmanager
def cloud_detected() -> Iterator[None]:
    """Let handlers of preemption take this machine for a Cloud TPU's, in the context.

    Elsewhere they run an operation that no released TensorFlow has.
    """
    with patched(f"{failure_handling_util.__name__}.on_gcp", lambda: True):
        yield


@contextlib.contextmanager
def tpu_systems(
    serialized_topology: Callable[[], bytes], shut_down: Callable[[], None]
) -> Iterator[None]:
    """Make initializing a TPU system in the context return `serialized_topology()`.

    `shut_down()` is called where it is shut down at once; what a graph does when a session runs it
    is not known here.

    The systems that were initialized in the context are forgotten at the end.
    """
    known = tpu_strategy_util._INITIALIZED_TPU_SYSTEMS
    before = dict(known)

    def configure_distributed_tpu(*_: Any, **kwargs: Any) -> Any:
        return tf.constant(serialized_topology(), name=kwargs.get("name"))

    def shutdown_distributed_tpu(name: str | None = None) -> Any:
        if tf.inside_function():
            shut_down()
        return tf.no_op(name=name)

    def worker_heartbeat(request: Any, name: str | None = None) -> Any:
        """Return an empty WorkerHeartbeatResponse: the host is well, and nothing is to be done."""
        return tf.constant(b"", name=name)

    try:
        with (
            patched(f"{tpu_ops.__name__}.worker_heartbeat", worker_heartbeat),
            patched(f"{tpu_ops.__name__}.configure_distributed_tpu", configure_distributed_tpu),
            patched(f"{tpu_ops.__name__}.shutdown_distributed_tpu", shutdown_distributed_tpu),
        ):
            yield
    finally:
        known.clear()
        known.update(before)


def serialized_topology(
    mesh_shape: Sequence[int], coordinates: list[list[int]], num_hosts: int
) -> bytes:
    """Return a TopologyProto; `coordinates` has (x, y, z, core) of each core, host after host."""
    proto = topology_pb2.TopologyProto(
        mesh_shape=mesh_shape,
        num_tasks=num_hosts,
        num_tpu_devices_per_task=len(coordinates) // num_hosts,
        device_coordinates=[number for core in coordinates for number in core],
    )
    return bytes(proto.SerializeToString())
