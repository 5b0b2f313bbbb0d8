"""`emulated_tpu`: an emulated TPU for programs that were written for a real one.

TensorFlow's names find it: devices, resolvers, systems and calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.emulate.cores import FunctionCores, assign_copies, name_results
from tpulint.runtime.emulate.system import System, current_state, system_of
from tpulint.runtime.execute.comparisons import kept_copies_shown
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.outside import experimental_map_outside_compilation, outside_compilation
from tpulint.runtime.pods.connections import split_address
from tpulint.runtime.pods.devices import Pod, current_pod
from tpulint.runtime.pods.hosts import (
    device_scope_restored,
    function_optimizer_disabled,
    operations_at_the_start,
)
from tpulint.runtime.pods.sessions import is_on_emulated_tpu
from tpulint.runtime.replicate import split_compile_and_replicate
from tpulint.runtime.tensorflow_internals import modules
from tpulint.runtime.tensorflow_internals.patching import (
    When,
    emulated_patch,
    emulated_patch_value,
    install,
    installed,
)
from tpulint.runtime.tensorflow_internals.tracebacks import builder
from tpulint.storage.session import serving

_LogicalDevice = modules.eager_context.LogicalDevice
_PhysicalDevice = modules.eager_context.PhysicalDevice
_CALLED = "_tpulint_called"
"""The attribute of a resolver that holds the name that the program gives to the TPU."""
_SOFT = "_tpulint_soft_placement"
"""The attribute of TensorFlow's context that holds what the program says of soft placement."""
_CONTEXT = "tensorflow.python.eager.context.Context"
_RESOLVER = (
    "tensorflow.python.distribute.cluster_resolver.tpu.tpu_cluster_resolver.TPUClusterResolver"
)
_TPU = "tensorflow.python.tpu"
_TPU_OPS = "tensorflow.python.tpu.ops.tpu_ops"
_ITERATORS = "tensorflow.python.data.ops.multi_device_iterator_ops"
_LISTED = "TensorFlow lists the emulated cores beside its devices"
_RESOLVED = "a TPUClusterResolver finds the emulated cores"
_SYSTEM = "the system that is initialized and shut down is the emulated one"
_ANY_CORE = "a function called on a free core runs here: its operation has no kernel"
_UNTUNED = "a pipeline that feeds several cores ends at once, and not after its tuning thread"


@emulated_patch(f"{_CONTEXT}.list_logical_devices", why=_LISTED)
def _list_logical_devices(
    original: Callable[..., list[Any]], self: Any, device_type: str | None = None
) -> list[Any]:
    devices = original(self, device_type)
    pod = emulator.current_part(Pod)
    if not pod.is_remote:
        names = [f"/device:TPU:{core}" for core in range(pod.cores_per_host)]
    else:  # they are there, with their hosts, once the program has connected to these
        names = pod.devices if pod.is_connected else []
    listed = {device.name for device in devices}  # the hosts of a pod that are processes
    cores = [_LogicalDevice(name, name.split(":")[-2]) for name in names if name not in listed]
    return devices + [core for core in cores if device_type in (None, core.device_type)]


@emulated_patch(f"{_CONTEXT}.list_physical_devices", why=_LISTED)
def _list_physical_devices(
    original: Callable[..., list[Any]], self: Any, device_type: str | None = None
) -> list[Any]:
    devices = original(self, device_type)
    pod = emulator.current_part(Pod)
    if device_type in (None, "TPU") and not pod.is_remote:
        names = (f"/physical_device:TPU:{core}" for core in range(pod.cores_per_host))
        devices += [_PhysicalDevice(name, "TPU") for name in names]
    return devices


@emulated_patch("tensorflow.python.client.session.BaseSession.list_devices", why=_LISTED)
def _list_devices(original: Callable[..., list[Any]], self: Any) -> list[Any]:
    devices = original(self)
    listed = {device.name for device in devices}  # the hosts of a pod that are processes
    names = emulator.current_part(Pod).devices if is_on_emulated_tpu(self) else []
    return devices + [
        modules.session._DeviceAttributes(name, name.split(":")[-2], 0, 0)
        for name in names
        if name not in listed
    ]


_soft_placement = modules.eager_context.Context.soft_device_placement
"""TensorFlow's own property."""


@contextlib.contextmanager
def soft_placement() -> Iterator[None]:
    """Place operations meant for devices that do not exist on the CPU in the context."""
    context = modules.eager_context.context()
    before = context._soft_device_placement
    setattr(context, _SOFT, before)
    _soft_placement.fset(context, True)
    try:
        yield
    finally:
        _soft_placement.fset(context, True if before is None else before)
        context._soft_device_placement = before


@emulated_patch_value(
    f"{_CONTEXT}.soft_device_placement",
    why="operations meant for devices that do not exist run on the CPU, whatever the program says",
)
def _keep_soft_placement(_: Any) -> property:
    """Let programs set and read `tf.config.set_soft_device_placement` as usual."""

    def get(self: Any) -> bool:
        is_asked_for = getattr(self, _SOFT, None)
        return bool(self.executing_eagerly() if is_asked_for is None else is_asked_for)

    def set_(self: Any, enable: bool) -> None:
        setattr(self, _SOFT, enable)

    return property(get, set_)


@emulated_patch(f"{_RESOLVER}.__init__", why=_RESOLVED)
def _initialize_resolver(
    _: Callable[..., None],
    self: Any,
    tpu: Any = None,
    zone: Any = None,
    project: Any = None,
    job_name: str = "worker",
    *args: Any,
    **kwargs: Any,
) -> None:
    # A TPU of one host is of this machine, whatever it is called, and a pod never is.
    del zone, project, args, kwargs
    pod = current_pod()
    self._cloud_tpu_client = modules.tpu_cluster_resolver._LocalCloudTpuClient()
    self._tpu = pod.name if pod.is_remote else "local"
    if pod.is_remote and not pod.is_connected:
        pod.job = job_name
    self.task_type = job_name
    self.task_id = 0
    self._tpu_topology = None
    setattr(self, _CALLED, str(tpu or "local"))


@emulated_patch(
    f"{_RESOLVER}.set_tpu_topology", why="initializing a system again loses the variables on it"
)
def _set_topology(original: Callable[..., None], self: Any, serialized: bytes) -> None:
    original(self, serialized)
    current_state().initialize_memory(getattr(self, _CALLED))


@emulated_patch(f"{_RESOLVER}.cluster_spec", why=_RESOLVED)
def _cluster_spec(_: Callable[..., Any], self: Any) -> Any:
    # Programs print the addresses in it.
    return tf.train.ClusterSpec({self.task_type: current_pod().addresses})


@emulated_patch(
    "tensorflow.python.distribute.failure_handling.failure_handling_util.on_gcp",
    why="a handler of preemption does nothing, as on a Cloud TPU",
)
def _is_on_cloud(_: Callable[[], bool]) -> bool:
    return True  # elsewhere a handler runs an operation that no released TensorFlow has


@contextlib.contextmanager
def systems_forgotten() -> Iterator[None]:
    """Forget at the end the systems that were initialized in the context."""
    systems = modules.tpu_strategy_util._INITIALIZED_TPU_SYSTEMS
    before = dict(systems)
    try:
        yield
    finally:
        systems.clear()
        systems.update(before)


@emulated_patch(f"{_TPU_OPS}.configure_distributed_tpu", why=_SYSTEM)
def _configure_system(
    _: Callable[..., Any], *args: Any, name: str | None = None, **kwargs: Any
) -> Any:
    del args, kwargs
    current_state().initialize()
    system = emulator.current_part(System)
    coordinates = system.coordinates
    topology = modules.topology_pb2.TopologyProto(
        mesh_shape=system.shape,
        num_tasks=system.num_hosts,
        num_tpu_devices_per_task=len(coordinates) // system.num_hosts,
        device_coordinates=[number for core in coordinates for number in core],
    )
    return tf.constant(topology.SerializeToString(), name=name)


@emulated_patch(f"{_TPU_OPS}.shutdown_distributed_tpu", why=_SYSTEM)
def _shut_system_down(_: Callable[..., Any], name: str | None = None) -> Any:
    # It is shut down at once; what a graph does when a session runs it is not known here.
    if tf.inside_function():
        current_state().is_initialized = False
    return tf.no_op(name=name)


@emulated_patch(
    f"{_TPU_OPS}.worker_heartbeat",
    why="the hosts of an emulated system are well: the operation has no kernel on a CPU",
)
def _worker_heartbeat(_: Callable[..., Any], request: Any, name: str | None = None) -> Any:
    """Return an empty WorkerHeartbeatResponse: the host is well, and nothing is to be done."""
    del request
    return tf.constant(b"", name=name)


@emulated_patch(f"{_TPU}.functional.TPUPartitionedCall", why=_ANY_CORE)
@emulated_patch(f"{_TPU_OPS}.tpu_partitioned_call", why=_ANY_CORE)
def _call_on_any_core(
    _: Callable[..., Any], args: Any, device_ordinal: Any, Tout: Any, f: Any, **kwargs: Any
) -> Any:
    del device_ordinal, kwargs
    return tf.raw_ops.StatefulPartitionedCall(args=args, Tout=Tout, f=f)


@emulated_patch(f"{_TPU_OPS}.tpu_ordinal_selector", why=_ANY_CORE)
def _select_core(_: Callable[..., Any], name: str | None = None) -> Any:
    return tf.constant([0], name=name)


@emulated_patch(f"{_ITERATORS}.OwnedMultiDeviceIterator.__init__", why=_UNTUNED)
def _initialize_iterator(
    original: Callable[..., None], self: Any, dataset: Any = None, *args: Any, **kwargs: Any
) -> None:
    original(self, None if dataset is None else _untuned(dataset), *args, **kwargs)


@emulated_patch(f"{_ITERATORS}._create_device_dataset", why=_UNTUNED)
def _create_device_dataset(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return _untuned(original(*args, **kwargs))


def _untuned(dataset: Any) -> Any:
    """Return `dataset` without the thread that tunes it, which sleeps up to a minute."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


@contextmanager
def emulated_tpu(
    num_replicas: int | None = None,
    *,
    topology: str | None = None,
    cores_per_replica: int = 1,
    hosts: int = 1,
    workers: Sequence[str] = (),
    storage: str | None = None,
    remote: bool = False,
) -> Iterator[None]:
    """Let unmodified TensorFlow code in the context find a TPU, and run on this CPU.

        with tpulint.runtime.emulated_tpu(num_replicas=8):
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
            strategy = tf.distribute.TPUStrategy(resolver)

    There are `num_replicas * cores_per_replica` cores, or those of `topology`: "2x2x2" is chips in
    x, chips in y, and cores a chip ("XxYxZxCORES" for three dimensions, "XxY" for one core a chip).
    Otherwise the program's own device assignment sets the cores per replica. `hosts` share the
    cores in equal parts: with more than one it is a pod, to whose hosts the program connects as to
    other machines. They are in this process, unless `workers` has the address ("host:port") of a
    `tpulint worker` for each of them. `storage` is a directory that holds the buckets: `gs://a/b`
    is the file `a/b` in it, for this process and those that it starts. With `remote`, also a single
    host is another machine, and none has the files of this one: it refuses paths without a scheme,
    as `gs://`, and Python in pipelines. The TPU is there in all
    threads of the process; a second one inside takes its place. At the end, also after an error,
    everything is restored, but the connection to workers stays: values that are with them can still
    be read.

    Raises:
        ValueError: both sizes are given, or there is no core or host, or `topology` is invalid, or
            the hosts cannot share it in equal parts, or `workers` are not as many addresses.
    """
    hosts = _number_of_hosts(hosts, workers)
    system = system_of(num_replicas, topology, cores_per_replica, hosts)
    if remote:
        operations_at_the_start()
    pod = Pod(hosts, system.num_cores // hosts, workers=tuple(workers), is_apart=remote)
    outer = emulator.current()
    # Functions that are made under one emulator may be called under another.
    functions = outer.part(FunctionCores) if outer else FunctionCores()
    install()
    with (
        serving(storage) if storage is not None else nullcontext(),
        emulator.opened(system, pod, functions),
        kept_copies_shown(),
        installed(When.EMULATED),
        nullcontext() if outer else soft_placement(),
        nullcontext() if outer else systems_forgotten(),
        function_optimizer_disabled(),
        device_scope_restored(),
    ):
        yield


def _number_of_hosts(hosts: int, workers: Sequence[str]) -> int:
    if isinstance(workers, str):
        raise ValueError(f"workers are a list of addresses, not {workers!r}")
    for address in workers:
        split_address(address)
    if workers and hosts not in (1, len(workers)):
        raise ValueError(f"{hosts} hosts cannot be {len(workers)} workers")
    return len(workers) or hosts


_REPLICATED = "the runtime has its own of these functions"
_OUTSIDE = "the runtime has its own outside_compilation"
_OUTSIDE_IMPLEMENTATION = f"{_TPU}.tpu_replication.outside_compilation_impl"


@emulated_patch_value(f"{_TPU}.tpu.split_compile_and_replicate", why=_REPLICATED)
def _replace_replicate(_: Any) -> Callable[..., Any]:
    return _replicate_on_cores  # all of TensorFlow's `tpu.*` functions end in this one


@emulated_patch_value(_OUTSIDE_IMPLEMENTATION, why=_OUTSIDE, since="2.15")
def _replace_outside_compilation(_: Any) -> Callable[..., Any]:
    @builder
    def outside_compilation_impl(is_map: bool, *args: Any, **kwargs: Any) -> Any:
        run = experimental_map_outside_compilation if is_map else outside_compilation
        return run(*args, **kwargs)

    return outside_compilation_impl


@emulated_patch_value(
    f"{_TPU}.tpu.outside_compilation", why=_OUTSIDE, until="2.12", unless=_OUTSIDE_IMPLEMENTATION
)
@emulated_patch_value(
    f"{_TPU}.tpu_replication.outside_compilation",
    why=_OUTSIDE,
    until="2.12",
    unless=_OUTSIDE_IMPLEMENTATION,
)
@emulated_patch_value(
    "tensorflow.compat.v1.tpu.outside_compilation",
    why=_OUTSIDE,
    until="2.12",
    unless=_OUTSIDE_IMPLEMENTATION,
)
def _replace_each_outside_compilation(_: Any) -> Callable[..., Any]:
    return outside_compilation  # TensorFlow 2.12 has it under three names, and all are in use


@emulated_patch(
    "tensorflow.python.ops.gen_tpu_ops.cross_replica_sum",
    why="a sum over replicas outside computations is of one replica: it has no kernel on a CPU",
)
def _cross_replica_sum(
    original: Callable[..., Any], input: Any, group_assignment: Any, name: str | None = None
) -> Any:
    """Sum over replicas, of which there is one outside computations, in a graph or eager.

    The operation has a kernel on TPU cores only. So that is where TensorFlow places it, which
    then compiles it as a program of its own. Programs with `use_tpu=False` come here.
    """
    is_plain = type(tf.compat.v1.get_default_graph()) is tf.Graph
    if (is_plain or tf.executing_eagerly()) and enclosing_context() is None:
        return tf.identity(input, name=name)
    return original(input, group_assignment, name=name)


@builder
def _replicate_on_cores(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    *args: Any,
    **kwargs: Any,
) -> list[Any]:
    with assign_copies():
        built = split_compile_and_replicate(
            computation, inputs, infeed_queue, device_assignment, *args, **kwargs
        )
    if built:
        name_results(built[1], device_assignment)
    return built
