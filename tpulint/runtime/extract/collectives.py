"""The collectives of a program: where replicas meet, and who meets whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.extract.bodies import COLLECTIVES, bodies
from tpulint.runtime.extract.region import Key, Operation, Region, key_of


@dataclass(frozen=True, eq=False)
class Collective:
    """One collective operation. `always`: every replica reaches it, whatever its data."""

    key: Key
    op: Operation
    always: bool
    groups: tuple[tuple[int, ...], ...]
    """The replicas that meet, group by group; a replica in no group meets nobody."""


def collectives(region: Region, replicas: int, *, always: bool = True) -> Iterator[Collective]:
    """The collectives of `region` and of the bodies in it."""
    for op in region.ops:
        if op.type in COLLECTIVES:
            yield Collective(key_of(region, op), op, always, _groups(op, replicas))
        for body in bodies(region, op):
            is_call = op.type.endswith("PartitionedCall")
            yield from collectives(body, replicas, always=always and is_call)


def _groups(op: Operation, replicas: int) -> tuple[tuple[int, ...], ...]:
    everybody = (tuple(range(replicas)),)
    if op.type == "CollectivePermute":
        return everybody
    assigned = tf.get_static_value(op.inputs[1])
    if assigned is None or assigned.size == 0:
        return everybody
    return tuple(tuple(int(one) for one in group) for group in assigned)
