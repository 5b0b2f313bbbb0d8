"""The mesh of chips of an emulated TPU, and the part of it that each host has."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

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
