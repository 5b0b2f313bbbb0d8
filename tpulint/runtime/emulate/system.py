"""The TPU system that is emulated now, and its state."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_CORES_PER_CHIP = 2
_SPEC = re.compile(r"\d+(x\d+){1,3}")


@dataclass(frozen=True)
class System:
    """TPU cores of one host; `mesh` is their extent in x, y, z, and cores per chip."""

    mesh: tuple[int, int, int, int]

    @property
    def num_cores(self) -> int:
        """Return the number of cores."""
        return math.prod(self.mesh)

    @property
    def coordinates(self) -> list[list[int]]:
        """(x, y, z, core) of each core, in the order of their device numbers."""
        width, height, depth, per_chip = self.mesh
        return [
            [x, y, z, core]
            for z in range(depth)
            for y in range(height)
            for x in range(width)
            for core in range(per_chip)
        ]


def system_of(
    num_replicas: int | None = None, topology: str | None = None, cores_per_replica: int = 1
) -> System:
    """Return the system that `emulated_tpu` is asked for, of one core by default.

    Raises:
        ValueError: both sizes are given, or there is no core, or the topology is invalid.
    """
    if topology is not None:
        if num_replicas is not None or cores_per_replica != 1:
            raise ValueError("give either num_replicas (and cores_per_replica) or topology")
        return System(_mesh_of_spec(topology))
    cores = (1 if num_replicas is None else num_replicas) * cores_per_replica
    if cores < 1:
        raise ValueError(f"a TPU has at least one core, not {cores}")
    return System(_mesh_of(cores))


def _mesh_of_spec(spec: str) -> tuple[int, int, int, int]:
    """Return the mesh of `spec`.

    "XxY" has one core a chip, "XxYxC" has C, and "XxYxZxC" has three dimensions.
    """
    numbers = [int(number) for number in spec.split("x")] if _SPEC.fullmatch(spec) else []
    if not numbers or 0 in numbers:
        raise ValueError(
            f"a topology is 'XxY', 'XxYxCORES' or 'XxYxZxCORES' (CORES of each chip), not {spec!r}"
        )
    x, y = numbers[:2]
    z = numbers[2] if len(numbers) == 4 else 1
    return x, y, z, numbers[-1] if len(numbers) > 2 else 1


def _mesh_of(cores: int) -> tuple[int, int, int, int]:
    """Return a mesh of chips of two cores, if that divides, as near to a square as possible."""
    per_chip = _CORES_PER_CHIP if cores % _CORES_PER_CHIP == 0 else 1
    chips = cores // per_chip
    y = next(side for side in range(math.isqrt(chips), 0, -1) if chips % side == 0)
    return chips // y, y, 1, per_chip


_systems: list[System] = []
_initialized: list[bool] = []


def current_system() -> System | None:
    """Return the innermost emulated system, or None."""
    return _systems[-1] if _systems else None


@contextmanager
def emulating(system: System) -> Iterator[None]:
    """Make `system` the current one in the context, in all threads."""
    _systems.append(system)
    _initialized.append(False)
    try:
        yield
    finally:
        _systems.remove(system)
        _initialized.pop()


def note_initialized(*, is_now: bool) -> None:
    """Note that the program has initialized the system, or has shut it down."""
    _initialized[-1] = is_now


def is_initialized() -> bool:
    """Return whether steps can run: there is no emulated system, or it has been initialized."""
    return not _initialized or _initialized[-1]
