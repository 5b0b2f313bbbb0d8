"""Count the inputs of a computation of the replicate family."""

from __future__ import annotations

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.objects import ExternalObject, Sequence
from tpulint.analysis.domain.values import NONE, Const, Value
from tpulint.queries.entry_calls import REPLICATES, given


def input_count(entry: Computation) -> int | None:
    """Return the number of inputs of one replica, those of an infeed queue included."""
    inputs = given(entry, "inputs")
    if entry.kind in REPLICATES and isinstance(inputs, Sequence):
        inputs = inputs.items[0] if not inputs.open else NONE
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
    if not isinstance(queue, ExternalObject) or queue.last != "InfeedQueue":
        return None
    number = queue.argument("number_of_tuple_elements", 0)
    if number is not None and number != NONE:
        return _number(number)
    types = queue.argument("tuple_types", 1)
    return len(types.items) if isinstance(types, Sequence) and not types.open else None


def _number(value: Value) -> int | None:
    return value.value if isinstance(value, Const) and type(value.value) is int else None
