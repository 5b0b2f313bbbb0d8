"""The replicas that a collective names: the groups that meet, or who sends to whom."""

from __future__ import annotations

from typing import Any

from tpulint.runtime.errors import UnsupportedOpError
from tpulint.runtime.extract.constants import constant_value
from tpulint.runtime.extract.region import Operation
from tpulint.runtime.source_location import place_of_operation

Groups = tuple[tuple[int, ...], ...]


def assigned_groups(op: Operation) -> Groups:
    """Return the groups that `op`, a collective, assigns; none of them if all replicas meet.

    Raise `UnsupportedOpError` if the groups depend on data.
    """
    if op.type == "CollectivePermute":
        return ()
    return tuple(tuple(int(member) for member in group) for group in _replicas_named_by(op))


def source_target_pairs(op: Operation) -> Groups:
    """Return the pairs of `op`, a `CollectivePermute`: the replica that sends, and its target.

    Raise `UnsupportedOpError` if the pairs depend on data.
    """
    return tuple((int(source), int(target)) for source, target in _replicas_named_by(op))


def _replicas_named_by(op: Operation) -> Any:
    replicas = constant_value(op.inputs[1])
    if replicas is None:
        raise UnsupportedOpError(
            f"Input 1 to node `{op.name}` with op {op.type} must be a compile-time constant",
            place=place_of_operation(op),
            rule="TPU502",
        )
    return replicas if replicas.size else ()
