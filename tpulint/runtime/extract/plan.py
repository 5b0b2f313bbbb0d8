"""The plan of a region: its pieces, in an order in which they can be built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tpulint.runtime.extract.order import order
from tpulint.runtime.extract.pieces import Piece, Side, cut, side_of
from tpulint.runtime.extract.region import Operation, Region


@dataclass(frozen=True, eq=False)
class Plan:
    """`before` names for each operation of `region` those of it that must run first."""

    region: Region
    pieces: tuple[Piece, ...]
    before: Mapping[str, frozenset[str]]


def plan(region: Region, on_host: Callable[[Region, Operation], bool]) -> Plan:
    """Cut `region`. `on_host` tells what runs on the host."""
    sides = {op.name: side_of(region, op, lambda op: on_host(region, op)) for op in region.ops}

    def side(op: Operation) -> Side:
        return sides[op.name]

    before = order(region, side)
    return Plan(region, cut(region.ops, before, side, region.cluster_of), before)
