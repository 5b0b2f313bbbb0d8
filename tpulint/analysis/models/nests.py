"""Functions of `tf.nest` that ask for the structure of an argument, and take no tensor of it."""

from __future__ import annotations

from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import UNKNOWN, Value
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.models.call import Call

ANSWERED = frozenset(["pack_sequence_as", "assert_same_structure"])


def answer(this: Call) -> Value | None:
    if this.name not in ANSWERED or this.receiver is not None:
        return None
    structure = this.get("structure", 0) or UNKNOWN
    flat = this.get("flat_sequence", 1) or UNKNOWN
    if this.name == "assert_same_structure":
        return UNKNOWN
    if not any(True for _ in tensors(structure)):
        return _packed(this, flat)
    return transfer.each_tensor(structure, lambda _: _packed(this, flat))


def _packed(this: Call, flat: Value) -> Value:
    """Return a part of what is packed, of which nothing tells which it is."""
    transfer.touch(this.frame, [flat], this.site, this.name)
    return transfer.result(this.frame, [flat], this.site, "structure")
