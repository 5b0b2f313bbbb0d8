"""TensorFlow's devices, resolvers and systems, replaced for an emulated TPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
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

EagerContext = eager_context.Context
_LogicalDevice = eager_context.LogicalDevice
_PhysicalDevice = eager_context.PhysicalDevice
_CONTEXT = "tensorflow.python.eager.context.Context"


@contextlib.contextmanager
def cores_listed(count: Callable[[], int]) -> Iterator[None]:
    """Let TensorFlow list `count()` TPU cores beside its devices in the context."""
    context, sessions = eager_context.Context, session.BaseSession
    logical, physical = context.list_logical_devices, context.list_physical_devices
    of_session = sessions.list_devices

    def list_logical_devices(self: Any, device_type: str | None = None) -> list[Any]:
        found: list[Any] = logical(self, device_type)
        if device_type in (None, "TPU"):
            found += [_LogicalDevice(f"/device:TPU:{i}", "TPU") for i in range(count())]
        return found

    def list_physical_devices(self: Any, device_type: str | None = None) -> list[Any]:
        found: list[Any] = physical(self, device_type)
        if device_type in (None, "TPU"):
            found += [_PhysicalDevice(f"/physical_device:TPU:{i}", "TPU") for i in range(count())]
        return found

    def list_devices(self: Any) -> list[Any]:
        names = (f"/job:localhost/replica:0/task:0/device:TPU:{i}" for i in range(count()))
        cores = [session._DeviceAttributes(name, "TPU", 0, 0) for name in names]
        return [*of_session(self), *cores]

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
def cluster_resolvers() -> Iterator[None]:
    """Make every TPUClusterResolver in the context resolve to TPU cores of this machine."""
    kind = tpu_cluster_resolver.TPUClusterResolver
    resolver = f"{kind.__module__}.{kind.__name__}"

    def __init__(
        self: Any,
        tpu: Any = None,
        zone: Any = None,
        project: Any = None,
        job_name: str = "worker",
        *_: Any,
        **__: Any,
    ) -> None:
        self._cloud_tpu_client = tpu_cluster_resolver._LocalCloudTpuClient()
        self._tpu = "local"
        self.task_type = job_name
        self.task_id = 0
        self._tpu_topology = None

    def cluster_spec(self: Any) -> Any:
        # Programs print the address in it.
        return tf.train.ClusterSpec({self.task_type: ["localhost:8470"]})

    with (
        patched(f"{resolver}.__init__", __init__),
        patched(f"{resolver}.cluster_spec", cluster_spec),
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

    try:
        with (
            patched(f"{tpu_ops.__name__}.configure_distributed_tpu", configure_distributed_tpu),
            patched(f"{tpu_ops.__name__}.shutdown_distributed_tpu", shutdown_distributed_tpu),
        ):
            yield
    finally:
        known.clear()
        known.update(before)


def serialized_topology(mesh_shape: list[int], coordinates: list[list[int]]) -> bytes:
    """Return a TopologyProto of one host; `coordinates` has (x, y, z, core) of each core."""
    proto = topology_pb2.TopologyProto(
        mesh_shape=mesh_shape,
        num_tasks=1,
        num_tpu_devices_per_task=len(coordinates),
        device_coordinates=[number for core in coordinates for number in core],
    )
    return bytes(proto.SerializeToString())
