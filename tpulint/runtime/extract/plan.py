"""The plan of a region: its pieces, in an order in which they can be built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tpulint.runtime.extract.order import order
from tpulint.runtime.extract.pieces import Piece, Side, cut, side_of
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.extract.tensor_lists import operations_on_crossing_lists


@dataclass(frozen=True, eq=False)
class Plan:
    """The pieces of `region`; `before` names for each operation those that must run first.

    Constants are in every piece that takes them, and in no order.
    """

    region: Region
    pieces: tuple[Piece, ...]
    before: Mapping[str, frozenset[str]]


def plan(region: Region) -> Plan:
    """Cut `region`."""
    sides = {op.name: side_of(region, op) for op in region.ops}
    planned = _plan(region, sides)
    lists = operations_on_crossing_lists(region, planned.pieces)
    plain = {name: Side.PLAIN for name in lists if sides[name] is Side.DEVICE}
    return _plan(region, sides | plain) if plain else planned


def _plan(region: Region, sides: Mapping[str, Side]) -> Plan:
    def side(op: Operation) -> Side:
        return sides[op.name]

    constants = frozenset(op.name for op in region.ops if op.type == "Const")
    ordered = order(region, side)
    before = {name: earlier - constants for name, earlier in ordered.items()}
    rest = [op for op in region.ops if op.name not in constants]
    pieces = cut(rest, before, side, region.cluster_of)
    return Plan(region, tuple(with_constants(piece) for piece in pieces), before)


def with_constants(piece: Piece) -> Piece:
    """Return `piece` with the constants that its operations take."""
    if piece.side in (Side.CONTROL, Side.COLLECTIVE, Side.FEED):
        return piece
    constants = {
        tensor.op.name: tensor.op
        for op in piece.ops
        for tensor in op.inputs
        if tensor.op.type == "Const"
    }
    return replace(piece, ops=(*constants.values(), *piece.ops))
