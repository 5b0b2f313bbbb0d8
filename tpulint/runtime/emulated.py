"""`emulated_tpu`: an emulated TPU for programs that were written for a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tpulint.runtime import emulator
from tpulint.runtime.embedding import operations as embeddings
from tpulint.runtime.embedding.patches import EmbeddingOperations, embeddings_emulated
from tpulint.runtime.emulate import calls, cores
from tpulint.runtime.emulate.placed import Functions, name_results
from tpulint.runtime.emulate.shards import experimental_map_outside_compilation
from tpulint.runtime.emulate.system import (
    System,
    cloud_detected,
    cluster_resolvers,
    cores_listed,
    current_state,
    lost_variable,
    serialized_topology,
    soft_placement,
    system_of,
    tpu_systems,
)
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.outside import outside_compilation
from tpulint.runtime.pods import placement, sessions
from tpulint.runtime.pods.devices import Pod
from tpulint.runtime.pods.hosts import (
    clusters_connected,
    device_scope_restored,
    functions_left_alone,
    no_wait_for_lost_hosts,
    pipelines_of_hosts_seen,
    refuse_python,
)
from tpulint.runtime.replicate import split_compile_and_replicate
from tpulint.runtime.tensorflow_internals import patching, tracebacks
from tpulint.runtime.tensorflow_internals.functions import function_definitions_observed
from tpulint.runtime.workers.addresses import answers, parts_of
from tpulint.runtime.workers.connecting import prepare, reach
from tpulint.runtime.workers.lost import lost_host


@contextmanager
def emulated_tpu(
    num_replicas: int | None = None,
    *,
    topology: str | None = None,
    cores_per_replica: int = 1,
    hosts: int = 1,
    workers: Sequence[str] = (),
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
    `tpulint worker` for each of them. The TPU is there in all threads of the process; a second one
    inside takes its place. At the end, also after an error, everything is restored, but the
    connection to workers stays: values that are with them can still be read.

    Raises:
        ValueError: both sizes are given, or there is no core or host, or `topology` is invalid, or
            the hosts cannot share it in equal parts, or `workers` are not as many addresses.
    """
    hosts = _number_of_hosts(hosts, workers)
    system = system_of(num_replicas, topology, cores_per_replica, hosts)
    patches = _patches() if emulator.current() is None else ()
    with (
        emulator.opened(system, Pod(hosts, system.num_cores // hosts, workers=tuple(workers))),
        patching.install(patches),
        functions_left_alone(),
        device_scope_restored(),
    ):
        yield


def _number_of_hosts(hosts: int, workers: Sequence[str]) -> int:
    if isinstance(workers, str):
        raise ValueError(f"workers are a list of addresses, not {workers!r}")
    for address in workers:
        parts_of(address)
    if workers and hosts not in (1, len(workers)):
        raise ValueError(f"{hosts} hosts cannot be {len(workers)} workers")
    return len(workers) or hosts


_EMBEDDINGS = EmbeddingOperations(
    embeddings.is_set_up,
    embeddings.set_up,
    embeddings.load,
    embeddings.retrieve,
    embeddings.enqueue,
    embeddings.activations,
    embeddings.send_gradients,
)


def _patches() -> Sequence[AbstractContextManager[None]]:
    """Return the patches that let TensorFlow's own names find the emulated system."""
    functions = Functions()
    return (
        cores_listed(),
        clusters_connected(prepare),
        no_wait_for_lost_hosts(lost_host),
        placement.hosts_placed(),
        pipelines_of_hosts_seen(refuse_python),
        soft_placement(),
        function_definitions_observed(functions.see),
        cores.cores_reported(functions, functions.holds_computation),
        cores.variables_in_memory(lambda: current_state().memory, lost_variable),
        placement.emulated_devices_placed(),
        sessions.sessions_on_workers(reach, answers, lost_host),
        cores.packed_variables_unpacked(),
        cores.first_copies_taken(),
        cores.manual_sharding_refused(),
        cluster_resolvers(lambda name: current_state().initialize_memory(name)),
        cloud_detected(),
        tpu_systems(_initialize, _shut_down),
        calls.partitioned_calls(),
        calls.cross_replica_sums(lambda: enclosing_context() is not None),
        embeddings_emulated(_EMBEDDINGS),
        calls.autotune_disabled(),
        calls.replicate_calls(
            _replicate_on_cores, outside_compilation, experimental_map_outside_compilation
        ),
    )


@tracebacks.builder
def _replicate_on_cores(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    *args: Any,
    **kwargs: Any,
) -> list[Any]:
    with cores.copies_assigned():
        found = split_compile_and_replicate(
            computation, inputs, infeed_queue, device_assignment, *args, **kwargs
        )
    if found:
        name_results(found[1], device_assignment)
    return found


def _shut_down() -> None:
    current_state().is_initialized = False


def _initialize() -> bytes:
    """Initialize the system: its topology, serialized."""
    current_state().is_initialized = True
    embeddings.forget()
    system = emulator.current_part(System)
    mesh = system.mesh
    return serialized_topology(mesh.shape, mesh.coordinates, system.num_hosts)
