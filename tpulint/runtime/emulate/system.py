"""The TPU system that is emulated now, and its state."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tpulint.runtime.emulate.mesh import Mesh, mesh_of_cores, mesh_of_spec
from tpulint.runtime.errors import LostVariableError
from tpulint.runtime.source_location import users_place
from tpulint.runtime.tensorflow_internals import TPUMemory


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


class _Memories:
    """The memories of the TPUs of one system, by the names that the program gives them."""

    def __init__(self) -> None:
        self.current = TPUMemory()
        self._of: dict[str, TPUMemory] = {}

    def initialize(self, name: str) -> None:
        """Clear the memory of the TPU `name`, unless it is initialized for the first time."""
        before = self._of.get(name)
        if before is not None:
            before.clear(users_place())
        if self._of:
            self.current = TPUMemory()
        self._of[name] = self.current


_systems: list[System] = []
_initialized: list[bool] = []
_memories: list[_Memories] = []


def current_system() -> System | None:
    """Return the innermost emulated system, or None."""
    return _systems[-1] if _systems else None


@contextmanager
def emulating(system: System) -> Iterator[None]:
    """Make `system` the current one in the context, in all threads."""
    _systems.append(system)
    _initialized.append(False)
    _memories.append(_Memories())
    try:
        yield
    finally:
        _systems.remove(system)
        _initialized.pop()
        _memories.pop()


def note_initialized(*, is_now: bool) -> None:
    """Note that the program has initialized the system, or has shut it down."""
    _initialized[-1] = is_now


def is_initialized() -> bool:
    """Return whether steps can run: there is no emulated system, or it has been initialized."""
    return not _initialized or _initialized[-1]


def current_memory() -> TPUMemory:
    """Return the memory in which variables are now created."""
    return _memories[-1].current


def initialize_memory(name: str) -> None:
    """Note that the program has initialized the TPU that it calls `name`."""
    _memories[-1].initialize(name)


def lost_variable(name: str, memory: TPUMemory) -> LostVariableError:
    """Return the error of a use of the variable `name` after `memory` has been cleared."""
    return LostVariableError(
        f"Could not find the variable '{name}' on the TPU: it was lost when the TPU system was "
        "initialized again",
        place=memory.cleared_at,
    )
