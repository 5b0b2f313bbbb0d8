"""The segments of a region: device segments, host clusters, and operations that hold both.

A device segment is as large as the order of the operations allows: all device operations that
need nothing of a later cluster. So a cluster costs one crossing each way, not each operation.
Collectives of one kind that need the same segments are ready at the same moment, and are one
segment: so all gradients of a step cost one exchange.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from tpulint.ordering.operations import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.extract.bodies import crosses_the_seam
from tpulint.runtime.extract.idle_operations import holds_idle_host_operations
from tpulint.runtime.extract.region import Operation, Region


class Side(enum.Enum):
    """The place where an operation runs.

    `PLAIN`: on the device, but not compiled (see `tensor_lists`, and `ONLY_OF_TPUS`).
    """

    DEVICE = "device"
    HOST = "host"
    PLAIN = "plain"
    CONTROL = "control"
    COLLECTIVE = "collective"
    FEED = "feed"


@dataclass(frozen=True, eq=False)
class Segment:
    """Operations of one side that run together; `cluster` is the host cluster's name."""

    side: Side
    ops: tuple[Operation, ...]
    cluster: str | None = None


def side_of(region: Region, op: Operation) -> Side:
    """Return the side that `op` is on by its marks."""
    if op.type in FEEDS:
        return Side.FEED
    if region.cluster_of(op) is not None:
        return Side.HOST
    if op.type in COLLECTIVES:
        return Side.COLLECTIVE
    if op.type in ONLY_OF_TPUS:
        return Side.PLAIN
    if crosses_the_seam(region, op) or holds_idle_host_operations(region, op):
        return Side.CONTROL
    return Side.DEVICE


def cut(
    ops: Iterable[Operation],
    before: Mapping[str, frozenset[str]],
    side: Callable[[Operation], Side],
    cluster: Callable[[Operation], str | None],
    kind: Callable[[Operation], Hashable],
) -> tuple[Segment, ...]:
    """Return the segments of `ops` in an order in which they can be built.

    `before` names, for each operation, those of `ops` that must come first; `kind` is the same for
    operations of which one segment is made where they need the same segments.
    """
    rest: dict[str, Operation] = {op.name: op for op in ops}
    done: dict[str, int] = {}
    numbers = itertools.count()
    segments: list[Segment] = []

    def take(fits: Callable[[Operation], bool]) -> tuple[Operation, ...]:
        taken = []
        number = next(numbers)
        for op in list(rest.values()):
            if before[op.name] <= done.keys() and fits(op):
                taken.append(rest.pop(op.name))
                done[op.name] = number
        return tuple(taken)

    def of_a_cluster(name: str | None) -> Segment:
        taken = take(lambda other: side(other) is Side.HOST and cluster(other) == name)
        return Segment(Side.HOST, taken, name)

    def needs(op: Operation) -> frozenset[int]:
        return frozenset(done[name] for name in before[op.name])

    def of_a_kind(op: Operation) -> Segment:
        own, needed = kind(op), needs(op)
        return Segment(side(op), take(lambda each: kind(each) == own and needs(each) == needed))

    def next_other() -> Segment | None:
        for op in rest.values():
            if before[op.name] <= done.keys() and side(op) is not Side.DEVICE:
                return of_a_cluster(cluster(op)) if side(op) is Side.HOST else of_a_kind(op)
        return None

    while rest:
        others = iter(next_other, None)
        segments += others
        taken = take(lambda op: side(op) is Side.DEVICE)
        if taken:
            segments.append(Segment(Side.DEVICE, taken))
        elif rest and not any(before[name] <= done.keys() for name in rest):
            raise AssertionError(f"cyclic order among {sorted(rest)[:5]}")
    return tuple(segments)
