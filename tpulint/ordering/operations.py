"""Facts about TensorFlow's operations that both halves ask for.

The analyzer knows an operation by the public calls that build it, the runtime by its type.
"""

from __future__ import annotations

from typing import NamedTuple

from tpulint.ordering.truth import Truth


class CollectiveOperation(NamedTuple):
    """An operation that replicas carry out together (tpu_ops.py, distribute_lib.ReplicaContext)."""

    type: str
    calls: frozenset[str]
    """The last names of the public calls that end in it."""
    agrees: bool
    """It leaves every replica with the same."""


_COLLECTIVE_OPERATIONS = (
    CollectiveOperation(
        "CrossReplicaSum",
        # Also all_gather: a TPU sums what each replica has put into zeros of the whole shape.
        frozenset({"cross_replica_sum", "cross_replica_mean", "all_reduce", "all_gather"}),
        agrees=True,
    ),
    CollectiveOperation("AllToAll", frozenset({"all_to_all"}), agrees=False),
    CollectiveOperation("CollectivePermute", frozenset({"collective_permute"}), agrees=False),
)

COLLECTIVES = frozenset(row.type for row in _COLLECTIVE_OPERATIONS)
AGREEMENTS = frozenset(row.type for row in _COLLECTIVE_OPERATIONS if row.agrees)
COLLECTIVE_CALLS = frozenset[str]().union(*(row.calls for row in _COLLECTIVE_OPERATIONS))
AGREEMENT_CALLS = frozenset[str]().union(
    *(row.calls for row in _COLLECTIVE_OPERATIONS if row.agrees)
)


def rule_of_divergence(alike: Truth) -> str:
    """Return the code of the rule that a collective breaks where only some replicas come to it.

    `alike` says whether all replicas decide alike in each branch and loop around it.
    """
    return "TPU306" if alike is Truth.NO else "TPU305"


INFEED_TAKES = frozenset({"InfeedDequeue", "InfeedDequeueTuple"})
"""By these the device takes tuples from the host, for which it may have to wait."""
FEEDS = INFEED_TAKES | {
    name + kind
    for name in ("InfeedEnqueue", "OutfeedEnqueue", "OutfeedDequeue")
    for kind in ("", "Tuple")
}
ONLY_OF_TPUS = frozenset(
    {"InplaceAdd", "InplaceUpdate", "QuantizeAndDequantize", "ResizeNearestNeighborGrad"}
)
"""Compiled on a TPU (tf2xla's legalization_op_config.cc), by kernels that XLA:CPU lacks."""
