"""The collectives of a program: where replicas meet, who meets whom, and who may not come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.extract.bodies import CALL, CASE, COLLECTIVES, IF, WHILE, bodies
from tpulint.runtime.extract.effects import arguments, is_resource
from tpulint.runtime.extract.feeds import TAKES
from tpulint.runtime.extract.program import Program
from tpulint.runtime.extract.region import Key, Operation, Region, key_of


@dataclass(frozen=True, eq=False)
class Collective:
    """One collective operation. `always`: every replica reaches it, whatever its data."""

    key: Key
    op: Operation
    always: bool
    groups: tuple[tuple[int, ...], ...]
    """The replicas that meet, group by group; a replica in no group meets nobody."""
    rule: str
    """Whose matter it is if only some replicas come: TPU306 if a condition around it depends on
    what each replica is given, else TPU305."""


def collectives(program: Program) -> Iterator[Collective]:
    """The collectives of `program`."""
    given = frozenset(
        name
        for name, tensors in program.boundary.items()
        if len({tensor.name for tensor in tensors}) > 1 and not is_resource(tensors[0])
    )
    return _collectives(program.region, program.num_replicas, given, True, "TPU305")


def _collectives(
    region: Region, replicas: int, given: frozenset[str], always: bool, rule: str
) -> Iterator[Collective]:
    """Those of `region`, of whose inputs each replica has its own of those named `given`."""
    own = _of_replicas(region, given)
    for op in region.ops:
        if op.type in COLLECTIVES:
            yield Collective(key_of(region, op), op, always, _groups(op, replicas), rule)
        differs = rule
        if (op.type in IF | CASE and op.inputs[0].name in own) or _stops_apart(region, op, own):
            differs = "TPU306"
        for body in bodies(region, op):
            inside = _given_to(region, op, body, own)
            yield from _collectives(body, replicas, inside, always and op.type in CALL, differs)


def _of_replicas(region: Region, given: frozenset[str]) -> frozenset[str]:
    """The tensors of `region` that come of those of its inputs that are named `given`.

    What a collective gives is the same everywhere; what an infeed gives is each core's own.
    """
    own = set(given)
    for op in region.ops:
        if op.type in COLLECTIVES:
            continue
        if op.type in TAKES or any(tensor.name in own for tensor in op.inputs):
            own.update(tensor.name for tensor in op.outputs)
    return frozenset(own)


def _given_to(region: Region, op: Operation, body: Region, own: frozenset[str]) -> frozenset[str]:
    """The inputs of `body`, of `op`, of which each replica has its own."""
    places = {place for place, tensor in enumerate(arguments(op)) if tensor.name in own}
    if op.type in WHILE:
        places = _carried(bodies(region, op)[1], places)
    return frozenset(name for place, name in enumerate(body.inputs) if place in places)


def _carried(body: Region, places: set[int]) -> set[int]:
    """`places` of a loop's variables, and those that come of them in a later iteration."""
    while True:
        names = frozenset(body.inputs[place] for place in places)
        own = _of_replicas(body, names)
        more = {place for place, tensor in enumerate(body.outputs) if tensor.name in own}
        if more <= places:
            return places
        places = places | more


def _stops_apart(region: Region, op: Operation, own: frozenset[str]) -> bool:
    """Whether `op` is a loop that each replica leaves by its own data."""
    if op.type not in WHILE:
        return False
    condition = bodies(region, op)[0]
    given = _given_to(region, op, condition, own)
    return condition.outputs[0].name in _of_replicas(condition, given)


def _groups(op: Operation, replicas: int) -> tuple[tuple[int, ...], ...]:
    everybody = (tuple(range(replicas)),)
    if op.type == "CollectivePermute":
        return everybody
    assigned = tf.get_static_value(op.inputs[1])
    if assigned is None or assigned.size == 0:
        return everybody
    return tuple(tuple(int(one) for one in group) for group in assigned)
