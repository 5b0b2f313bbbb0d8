"""The results of collectives, computed from the parts that the members contribute."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.extract.collectives import source_target_pairs
from tpulint.runtime.extract.region import Operation, Tensor


def results(op: Operation, group: Sequence[int], parts: Sequence[Tensor]) -> list[Tensor]:
    """Return the result of the collective `op` for each replica of `group`, given their `parts`."""
    if op.type == "CrossReplicaSum":
        return sums_of(parts)
    if op.type == "AllToAll":
        return _all_to_all(op, parts)
    return _permuted(op, dict(zip(group, parts, strict=True)))


def sums_of(parts: Sequence[Tensor]) -> list[Tensor]:
    """Return the sum of `parts` for each of their members."""
    return [tf.add_n(list(parts))] * len(parts)


def _all_to_all(op: Operation, parts: Sequence[Tensor]) -> list[Tensor]:
    """Return for each member the parts that all members have for it."""
    split = [
        tf.split(part, op.get_attr("split_count"), axis=op.get_attr("split_dimension"))
        for part in parts
    ]
    return [tf.concat(mine, axis=op.get_attr("concat_dimension")) for mine in zip(*split)]


def _permuted(op: Operation, parts: dict[int, Tensor]) -> list[Tensor]:
    """Return for each member the part of the source whose target it is, or zeros without one."""
    source_of = {target: source for source, target in source_target_pairs(op)}
    return [
        parts[source_of[member]] if member in source_of else tf.zeros_like(own)
        for member, own in parts.items()
    ]
