"""The groups of replicas that a collective is given."""

from __future__ import annotations

import tensorflow as tf

from tpulint.runtime.extract.region import Operation

Groups = tuple[tuple[int, ...], ...]


def assigned_groups(op: Operation) -> Groups:
    """Return the groups that `op`, a collective, assigns; none of them if all replicas meet."""
    if op.type == "CollectivePermute":
        return ()
    assigned = tf.get_static_value(op.inputs[1])
    if assigned is None or assigned.size == 0:
        return ()
    return tuple(tuple(int(one) for one in group) for group in assigned)
