"""`emulated_tpu`: an emulated TPU for programs that were written for a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.emulate import calls as _calls  # noqa: F401 for its patches
from tpulint.runtime.emulate.cores import FunctionCores, assign_copies, name_results
from tpulint.runtime.emulate.names import soft_placement, systems_forgotten
from tpulint.runtime.emulate.system import system_of
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.outside import experimental_map_outside_compilation, outside_compilation
from tpulint.runtime.pods.connections import split_address
from tpulint.runtime.pods.devices import Pod
from tpulint.runtime.pods.hosts import device_scope_restored, function_optimizer_disabled
from tpulint.runtime.replicate import split_compile_and_replicate
from tpulint.runtime.tensorflow_internals.patching import (
    When,
    install,
    installed,
    patch,
    patch_value,
)
from tpulint.runtime.tensorflow_internals.tracebacks import builder
from tpulint.storage.session import serving


@contextmanager
def emulated_tpu(
    num_replicas: int | None = None,
    *,
    topology: str | None = None,
    cores_per_replica: int = 1,
    hosts: int = 1,
    workers: Sequence[str] = (),
    storage: str | None = None,
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
    is the file `a/b` in it, for this process and those that it starts. The TPU is there in all
    threads of the process; a second one inside takes its place. At the end, also after an error,
    everything is restored, but the connection to workers stays: values that are with them can still
    be read.

    Raises:
        ValueError: both sizes are given, or there is no core or host, or `topology` is invalid, or
            the hosts cannot share it in equal parts, or `workers` are not as many addresses.
    """
    hosts = _number_of_hosts(hosts, workers)
    system = system_of(num_replicas, topology, cores_per_replica, hosts)
    pod = Pod(hosts, system.num_cores // hosts, workers=tuple(workers))
    outer = emulator.current()
    # Functions that are made under one emulator may be called under another.
    functions = outer.part(FunctionCores) if outer else FunctionCores()
    install()
    with (
        serving(storage) if storage is not None else nullcontext(),
        emulator.opened(system, pod, functions),
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
_TPU = "tensorflow.python.tpu"
_OUTSIDE_IMPLEMENTATION = f"{_TPU}.tpu_replication.outside_compilation_impl"


@patch_value(f"{_TPU}.tpu.split_compile_and_replicate", why=_REPLICATED, when=When.EMULATED)
def _replace_replicate(_: Any) -> Callable[..., Any]:
    return _replicate_on_cores  # all of TensorFlow's `tpu.*` functions end in this one


@patch_value(_OUTSIDE_IMPLEMENTATION, why=_OUTSIDE, when=When.EMULATED, since="2.15")
def _replace_outside_compilation(_: Any) -> Callable[..., Any]:
    @builder
    def outside_compilation_impl(is_map: bool, *args: Any, **kwargs: Any) -> Any:
        run = experimental_map_outside_compilation if is_map else outside_compilation
        return run(*args, **kwargs)

    return outside_compilation_impl


@patch_value(
    f"{_TPU}.tpu.outside_compilation",
    why=_OUTSIDE,
    when=When.EMULATED,
    until="2.12",
    unless=_OUTSIDE_IMPLEMENTATION,
)
@patch_value(
    f"{_TPU}.tpu_replication.outside_compilation",
    why=_OUTSIDE,
    when=When.EMULATED,
    until="2.12",
    unless=_OUTSIDE_IMPLEMENTATION,
)
@patch_value(
    "tensorflow.compat.v1.tpu.outside_compilation",
    why=_OUTSIDE,
    when=When.EMULATED,
    until="2.12",
    unless=_OUTSIDE_IMPLEMENTATION,
)
def _replace_each_outside_compilation(_: Any) -> Callable[..., Any]:
    return outside_compilation  # TensorFlow 2.12 has it under three names, and all are in use


@patch(
    "tensorflow.python.ops.gen_tpu_ops.cross_replica_sum",
    why="a sum over replicas outside computations is of one replica: it has no kernel on a CPU",
    when=When.EMULATED,
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
