"""How many inputs a computation of the replicate family is given."""

from __future__ import annotations

from tpulint.program.model import Computation
from tpulint.program.values import NONE, Built, Const, Sequence, Value
from tpulint.rules.entry_calls import REPLICATES, given


def input_count(entry: Computation) -> int | None:
    """How many inputs one replica gets, those of an infeed queue included."""
    inputs = given(entry, "inputs")
    if entry.kind in REPLICATES and isinstance(inputs, Sequence):
        inputs = inputs.items[0] if inputs.items and not inputs.open else NONE
        if inputs == NONE:
            return None
    if inputs == NONE:
        count = 0
    elif isinstance(inputs, Sequence) and not inputs.open:
        count = len(inputs.items)
    else:
        return None
    queue = given(entry, "infeed_queue")
    if queue == NONE:
        return count
    fed = _fed(queue)
    return None if fed is None else count + fed


def _fed(queue: Value) -> int | None:
    """The number of tuple elements of an infeed queue (tpu_feed.InfeedQueue)."""
    if not isinstance(queue, Built) or queue.last != "InfeedQueue":
        return None
    if queue.arguments and queue.arguments[0] == (None, queue.arguments[0][1]):
        return _number(queue.arguments[0][1])
    named = dict(queue.arguments)
    if "number_of_tuple_elements" in named:
        return _number(named["number_of_tuple_elements"])
    types = named.get("tuple_types")
    return len(types.items) if isinstance(types, Sequence) and not types.open else None


def _number(value: Value) -> int | None:
    return value.value if isinstance(value, Const) and type(value.value) is int else None
