"""What collectives give: the members' results, of the parts that they bring."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Tensor


def results(op: Operation, group: Sequence[int], parts: Sequence[Tensor]) -> list[Tensor]:
    """What each replica of `group` gets of the collective `op`, to which they bring `parts`."""
    if op.type == "CrossReplicaSum":
        return [tf.add_n(list(parts))] * len(parts)
    if op.type == "AllToAll":
        return _all_to_all(op, parts)
    return _permuted(op, dict(zip(group, parts, strict=True)))


def _all_to_all(op: Operation, parts: Sequence[Tensor]) -> list[Tensor]:
    """For each member what the members have for it."""
    split = [
        tf.split(part, op.get_attr("split_count"), axis=op.get_attr("split_dimension"))
        for part in parts
    ]
    return [tf.concat(mine, axis=op.get_attr("concat_dimension")) for mine in zip(*split)]


def _permuted(op: Operation, parts: dict[int, Tensor]) -> list[Tensor]:
    """For each member what the source gave that has it as its target; zeros where there is none."""
    pairs = tf.get_static_value(op.inputs[1])
    source_of = {int(target): int(source) for source, target in pairs}
    return [
        parts[source_of[member]] if member in source_of else tf.zeros_like(own)
        for member, own in parts.items()
    ]
