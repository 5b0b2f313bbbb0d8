"""`emulated_tpu`: an emulated TPU for programs that were written for a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.emulate.placed import Functions, name_results
from tpulint.runtime.emulate.shards import experimental_map_outside_compilation
from tpulint.runtime.emulate.system import (
    System,
    current_system,
    emulating,
    note_initialized,
    system_of,
)
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.outside import outside_compilation
from tpulint.runtime.replicate import split_compile_and_replicate


@contextmanager
def emulated_tpu(
    num_replicas: int | None = None,
    *,
    topology: str | None = None,
    cores_per_replica: int = 1,
) -> Iterator[None]:
    """Let unmodified TensorFlow code in the context find a TPU, and run on this CPU.

        with tpulint.runtime.emulated_tpu(num_replicas=8):
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
            strategy = tf.distribute.TPUStrategy(resolver)

    There are `num_replicas * cores_per_replica` cores, or those of `topology`: "2x2x2" is chips in
    x, chips in y, and cores a chip ("XxYxZxCORES" for three dimensions, "XxY" for one core a chip).
    Otherwise the program's own device assignment sets the cores per replica. The TPU is there in
    all threads of the process; a second one inside takes its place. At the end, also after an
    error, everything is restored.

    Raises:
        ValueError: both sizes are given, or there is no core, or `topology` is invalid.
    """
    system = system_of(num_replicas, topology, cores_per_replica)
    with ExitStack() as places:
        if current_system() is None:
            places.enter_context(_tensorflow_on_it())
        places.enter_context(emulating(system))
        yield


@contextmanager
def _tensorflow_on_it() -> Iterator[None]:
    functions = Functions()
    with (
        tfi.listed(lambda: _now().num_cores),
        tfi.placed_softly(),
        tfi.functions_seen(functions.see),
        tfi.said_on_cores(functions),
        tfi.placed_on_this_host(),
        tfi.unpacked_outside_computations(),
        tfi.one_core_a_replica(),
        tfi.no_shards_by_hand(),
        tfi.resolved_here(),
        tfi.systems_are(_initialize, lambda: note_initialized(is_now=False)),
        tfi.called_on_any_core(),
        tfi.summed_alone(lambda: enclosing_context() is not None),
        tfi.no_embedding_hardware(),
        tfi.pipelines_not_tuned(),
        tfi.computations_go_to(
            _replicate_on_cores, outside_compilation, experimental_map_outside_compilation
        ),
    ):
        yield


def _replicate_on_cores(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    *args: Any,
    **kwargs: Any,
) -> list[Any]:
    with tfi.other_cores_follow():
        found = split_compile_and_replicate(
            computation, inputs, infeed_queue, device_assignment, *args, **kwargs
        )
    if found:
        name_results(found[1], device_assignment)
    return found


def _now() -> System:
    system = current_system()
    assert system is not None
    return system


def _initialize() -> bytes:
    """Initialize the system: its topology, serialized."""
    note_initialized(is_now=True)
    system = _now()
    return tfi.serialized_topology(list(system.mesh), system.coordinates)
