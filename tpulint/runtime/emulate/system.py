"""The emulated TPU system: its mesh, its state, and TensorFlow's names that find it."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.emulate.cores import TPUMemory
from tpulint.runtime.errors import LostVariableError
from tpulint.runtime.pods.devices import current_pod
from tpulint.runtime.pods.sessions import is_on_emulated_tpu
from tpulint.runtime.source_location import users_place
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

_CORES_PER_CHIP = 2
_SPEC = re.compile(r"\d+(x\d+){1,3}")
Extent = tuple[int, int, int]
"""The numbers of chips, or of hosts, in x, y and z."""


class Mesh(NamedTuple):
    """The chips of one host, the cores of a chip, and the hosts that stand side by side."""

    chips: Extent
    cores_per_chip: int
    hosts: Extent = (1, 1, 1)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return the extent of the whole in x, y, z, and cores per chip."""
        x, y, z = (chips * hosts for chips, hosts in zip(self.chips, self.hosts))
        return x, y, z, self.cores_per_chip

    @property
    def coordinates(self) -> list[list[int]]:
        """(x, y, z, core) of each core, host after host, in the order of their device numbers."""
        return [
            [*(o * size + at for o, size, at in zip(host, self.chips, chip)), core]
            for host in _places(self.hosts)
            for chip in _places(self.chips)
            for core in range(self.cores_per_chip)
        ]


def mesh_of_cores(cores: int, num_hosts: int) -> Mesh:
    """Return a mesh in which each host has as square a part as possible.

    A chip has two cores, if that divides those of a host.
    """
    per_host = cores // num_hosts
    per_chip = _CORES_PER_CHIP if per_host % _CORES_PER_CHIP == 0 else 1
    chips = _near_square(per_host // per_chip)
    return Mesh(chips, per_chip, _near_square(num_hosts))


def mesh_of_spec(spec: str, num_hosts: int) -> Mesh:
    """Return the mesh of `spec`, whose chips the hosts share in equal blocks.

    "XxY" has one core a chip, "XxYxC" has C, and "XxYxZxC" has three dimensions.

    Raises:
        ValueError: there is no such mesh, or the hosts cannot share it.
    """
    numbers = [int(number) for number in spec.split("x")] if _SPEC.fullmatch(spec) else []
    if not numbers or 0 in numbers:
        raise ValueError(
            f"a topology is 'XxY', 'XxYxCORES' or 'XxYxZxCORES' (CORES of each chip), not {spec!r}"
        )
    x, y = numbers[:2]
    z = numbers[2] if len(numbers) == 4 else 1
    grids = [
        (in_x, in_y, num_hosts // (in_x * in_y))
        for in_x in _divisors(math.gcd(x, num_hosts))
        for in_y in _divisors(math.gcd(y, num_hosts // in_x))
        if z % (num_hosts // (in_x * in_y)) == 0
    ]
    if not grids:
        raise ValueError(f"{num_hosts} hosts cannot share the chips of {spec!r} in equal blocks")
    blocks = [(x // in_x, y // in_y, z // in_z) for in_x, in_y, in_z in grids]
    best = min(range(len(grids)), key=lambda index: (max(blocks[index]), grids[index]))
    return Mesh(blocks[best], numbers[-1] if len(numbers) > 2 else 1, grids[best])


def _near_square(number: int) -> Extent:
    y = _divisors(number)[(len(_divisors(number)) - 1) // 2]
    return number // y, y, 1


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _places(extent: Extent) -> list[Extent]:
    """Return the coordinates in `extent`, x fastest."""
    width, height, depth = extent
    return [(x, y, z) for z in range(depth) for y in range(height) for x in range(width)]


@dataclass(frozen=True)
class System:
    """TPU cores of one host, or of several."""

    mesh: Mesh

    @property
    def num_cores(self) -> int:
        """Return the number of cores."""
        return math.prod(self.mesh.shape)

    @property
    def num_hosts(self) -> int:
        """Return the number of hosts."""
        return math.prod(self.mesh.hosts)


def system_of(
    num_replicas: int | None = None,
    topology: str | None = None,
    cores_per_replica: int = 1,
    hosts: int = 1,
) -> System:
    """Return the system that `emulated_tpu` is asked for, of one core a host by default.

    Raises:
        ValueError: both sizes are given, or there is no core or host, or the topology is invalid,
            or the hosts cannot share it in equal parts.
    """
    if hosts < 1:
        raise ValueError(f"a TPU has at least one host, not {hosts}")
    if topology is not None:
        if num_replicas is not None or cores_per_replica != 1:
            raise ValueError("give either num_replicas (and cores_per_replica) or topology")
        return System(mesh_of_spec(topology, hosts))
    cores = (hosts if num_replicas is None else num_replicas) * cores_per_replica
    if cores < 1:
        raise ValueError(f"a TPU has at least one core, not {cores}")
    if cores % hosts:
        raise ValueError(f"{hosts} hosts cannot share {cores} cores in equal parts")
    return System(mesh_of_cores(cores, hosts))


class SystemState:
    """What the program has made of the system: whether it is initialized, and its memories.

    There is a memory for each name that the program gives to the TPU.
    """

    def __init__(self) -> None:
        self.is_initialized = False
        self.memory = TPUMemory()
        """The memory in which variables are now created."""
        self._memories: dict[str, TPUMemory] = {}

    def initialize_memory(self, name: str) -> None:
        """Clear the memory of the TPU `name`, unless it is initialized for the first time."""
        before = self._memories.get(name)
        if before is not None:
            before.clear(users_place())
        if self._memories:
            self.memory = TPUMemory()
        self._memories[name] = self.memory


def current_system() -> System | None:
    """Return the emulated system, if there is one."""
    opened = emulator.current()
    return opened.part(System) if opened else None


def current_state() -> SystemState:
    """Return the state of the emulated system, which must be there."""
    return emulator.current_part(SystemState)


def is_initialized() -> bool:
    """Return whether steps can run: there is no emulated system, or it has been initialized."""
    return emulator.current() is None or current_state().is_initialized


def lost_variable(name: str, memory: TPUMemory) -> LostVariableError:
    """Return the error of a use of the variable `name` after `memory` has been cleared."""
    return LostVariableError(
        f"Could not find the variable '{name}' on the TPU: it was lost when the TPU system was "
        "initialized again",
        place=memory.cleared_at,
    )


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
