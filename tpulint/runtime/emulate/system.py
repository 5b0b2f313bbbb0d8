"""The emulated TPU system: its mesh, its state, and whether there is a real one."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.errors import LostVariableError
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals import graphs

# As in TPU v2 and v3.
_CORES_PER_CHIP = 2
_SPEC = re.compile(r"\d+(x\d+){1,3}")
Extent = tuple[int, int, int]
"""The numbers of chips, or of hosts, in x, y and z."""


class System(NamedTuple):
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
    def num_cores(self) -> int:
        """Return the number of cores."""
        return math.prod(self.shape)

    @property
    def num_hosts(self) -> int:
        """Return the number of hosts."""
        return math.prod(self.hosts)

    @property
    def coordinates(self) -> list[list[int]]:
        """(x, y, z, core) of each core, host after host, in the order of their device numbers."""
        return [
            [*(o * size + at for o, size, at in zip(host, self.chips, chip)), core]
            for host in _places(self.hosts)
            for chip in _places(self.chips)
            for core in range(self.cores_per_chip)
        ]


def _system_of_spec(spec: str, num_hosts: int) -> System:
    """Return the system of `spec`, whose chips the hosts share in equal blocks.

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
    # The block whose longest side is the shortest. Ties have a fixed order, so that a program
    # always gets the same coordinates.
    best = min(range(len(grids)), key=lambda index: (max(blocks[index]), grids[index]))
    return System(blocks[best], numbers[-1] if len(numbers) > 2 else 1, grids[best])


def _near_square(number: int) -> Extent:
    y = _divisors(number)[(len(_divisors(number)) - 1) // 2]
    return number // y, y, 1


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _places(extent: Extent) -> list[Extent]:
    """Return the coordinates in `extent`, x fastest."""
    width, height, depth = extent
    return [(x, y, z) for z in range(depth) for y in range(height) for x in range(width)]


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
        return _system_of_spec(topology, hosts)
    cores = (hosts if num_replicas is None else num_replicas) * cores_per_replica
    if cores < 1:
        raise ValueError(f"a TPU has at least one core, not {cores}")
    if cores % hosts:
        raise ValueError(f"{hosts} hosts cannot share {cores} cores in equal parts")
    # Each host has as square a part as possible; a chip has two cores, if that divides its cores.
    per_host = cores // hosts
    per_chip = _CORES_PER_CHIP if per_host % _CORES_PER_CHIP == 0 else 1
    return System(_near_square(per_host // per_chip), per_chip, _near_square(hosts))


class TPUMemory:
    """The memory of an emulated TPU from one initialization of its system to the next."""

    def __init__(self) -> None:
        self.is_cleared = False
        self.cleared_at: str | None = None
        """The user's line that has initialized the system again."""

    def clear(self, place: str | None) -> None:
        """Lose what is in the memory."""
        self.is_cleared, self.cleared_at = True, place


class SystemState:
    """What the program has made of the system: whether it is initialized, and its memories.

    There is a memory for each name that the program gives to the TPU.
    """

    def __init__(self) -> None:
        self.is_initialized = False
        self.memory = TPUMemory()
        """The memory in which variables are now created."""
        self.table_memory = TPUMemory()
        """That of embedding tables, which are lost whatever the TPU is called."""
        self._memories: dict[str, TPUMemory] = {}

    def initialize(self) -> None:
        """Note that the program initializes the system."""
        self.is_initialized = True
        self.table_memory.clear(user_location())
        self.table_memory = TPUMemory()

    def initialize_memory(self, name: str) -> None:
        """Clear the memory of the TPU `name`, unless it is initialized for the first time."""
        before = self._memories.get(name)
        if before is not None:
            before.clear(user_location())
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


def real_tpu() -> bool:
    """Return whether TensorFlow sees a TPU, of this machine or of a cluster it is connected to."""
    if current_system() is not None:
        return False
    if graphs.is_context_initialized():
        return bool(tf.config.list_logical_devices("TPU"))
    # Listing logical devices would freeze the configuration of devices that the user may change.
    return bool(tf.config.list_physical_devices("TPU"))
