"""What an input pipeline does before the TPU gets its elements.

The facts: tensorflow/python/data/ops/batch_op.py (without `drop_remainder` the first
dimension has no static size, even for an endless dataset), data/experimental/ops.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.program.estimators import argument
from tpulint.program.evaluate.attributes import is_dataset
from tpulint.program.model import ApiCall, Feed, Program
from tpulint.program.values import (
    NONE,
    UNKNOWN,
    Built,
    Choice,
    Const,
    Mapping,
    Sequence,
    Value,
    options,
)
from tpulint.program.where import DATA

# Where `drop_remainder` stands among the positional arguments, self left out.
BATCHES = {
    "batch": 1,
    "padded_batch": 3,
    "map_and_batch": 3,
    "map_and_batch_with_legacy_function": 3,
    "dense_to_ragged_batch": 1,
    "ragged_batch": 1,
}
DROPS = frozenset(["batch_and_drop_remainder", "padded_batch_and_drop_remainder"])
# What takes batches apart, or makes elements of another kind.
ENDS = frozenset(["unbatch", "rebatch", "window", "sparse_batch", "group_by_window", "reduce"])
NESTS = frozenset(["flat_map", "interleave", "parallel_interleave"])
JOINS = frozenset(["zip", "sample_from_datasets", "choose_from_datasets", "concatenate"])
ITERATORS = frozenset(["make_one_shot_iterator", "make_initializable_iterator"])
STEPS = 200  # of one pipeline


def data_of(program: Program, feed: Feed) -> Value:
    """What feeds the TPU: the dataset that is handed over, or those that it was taken from."""
    if any(isinstance(each, Built) and is_dataset(each) for each in options(feed.data)):
        return feed.data
    taken = [
        source
        for call in calls_of(program, feed)
        if call.last in ITERATORS
        for source in [call.receiver or (call.arguments[0].value if call.arguments else None)]
        if source is not None
    ]
    return taken[0] if len(taken) == 1 else UNKNOWN


def calls_of(program: Program, feed: Feed) -> Iterator[ApiCall]:
    """The calls made while the input function was read, functions of its datasets included."""
    for call in program.calls:
        if any(layer.kind == DATA and layer.payload is feed for layer in call.where.layers):
            yield call


def before(step: Built) -> Value | None:
    """What a step is made of: the dataset before it."""
    if step.source is not None:
        return step.source
    if step.last in ITERATORS and step.arguments:
        return step.arguments[0][1]
    return None


def steps(data: Value) -> Iterator[Built]:
    """Every dataset on the way to `data`, itself first, those that are joined included."""
    queue: list[Value] = [data]
    seen: set[int] = set()
    while queue and len(seen) < STEPS:
        value = queue.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Built):
            yield value
            inner = [each for _, each in value.arguments]
            queue += [each for each in (before(value), value.inner, *inner) if each is not None]
        elif isinstance(value, Choice):
            queue += value.options
        elif isinstance(value, Sequence):
            queue += value.items
        elif isinstance(value, Mapping):
            queue += value.items.values()


def last_batches(data: Value, depth: int = 0) -> Iterator[Built | None]:
    """The step that made the batches, on each way to `data`; None where it is not seen."""
    if depth > STEPS:
        yield None
    elif isinstance(data, Choice):
        for each in data.options:
            yield from last_batches(each, depth + 1)
    elif not isinstance(data, Built):
        yield None
    elif data.last in BATCHES or data.last in DROPS:
        yield data
    elif data.last == "apply":
        yield from _of_transformation(data, depth)
    elif data.last in NESTS:
        yield from last_batches(data.inner or UNKNOWN, depth + 1)
    elif data.last in JOINS and data.source is None:
        yield from _of_joined(data, depth)
    elif data.last in ENDS or (before(data) is None):
        yield None
    else:
        yield from last_batches(before(data) or UNKNOWN, depth + 1)


def _of_transformation(step: Built, depth: int) -> Iterator[Built | None]:
    """`apply(map_and_batch(...))`; other transformations of TensorFlow leave the batch alone."""
    given = step.arguments[0][1] if step.arguments else UNKNOWN
    for each in options(given):
        if not isinstance(each, Built):
            yield None
        elif each.last in BATCHES or each.last in DROPS:
            yield each
        elif each.last in KEEPS:
            yield from last_batches(step.source or UNKNOWN, depth + 1)
        else:
            yield None


KEEPS = frozenset(
    ["shuffle_and_repeat", "ignore_errors", "prefetch_to_device", "assert_cardinality", "cache"]
)


def _of_joined(step: Built, depth: int) -> Iterator[Built | None]:
    for _, given in step.arguments:
        items = given.items if isinstance(given, Sequence) else [given]
        for each in items:
            if isinstance(each, (Built, Choice)) and is_dataset(each):
                yield from last_batches(each, depth + 1)


def keeps_remainder(batch: Built) -> bool | None:
    """Whether the last batch may be smaller; None where that hangs on something not seen."""
    if batch.last in DROPS:
        return False
    given = argument(batch.arguments, "drop_remainder", BATCHES[batch.last])
    if given is None or given == NONE:
        return True
    if given == Const(False):
        return True
    return False if Const(True) in options(given) else None


def is_endless(data: Value | None) -> bool:
    """Whether every way to `data` repeats without end: then no batch is the last."""
    if isinstance(data, Choice):
        return all(is_endless(each) for each in data.options)
    if not isinstance(data, Built):
        return False
    if data.last == "repeat":
        count = argument(data.arguments, "count", 0)
        if count is None or count == NONE or count == Const(-1):
            return True
    if data.last == "apply" and data.arguments:
        given = data.arguments[0][1]
        if isinstance(given, Built) and given.last == "shuffle_and_repeat":
            return argument(given.arguments, "count", 1) in (None, NONE)
    return is_endless(before(data))
