"""TPU404: `maximum_shapes` that does not fit the inputs."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.program.apis.literals import Shape, described, shape_of
from tpulint.program.model import Computation, Program
from tpulint.program.values import NONE, Built, Mapping, Sequence, Tensor, Value, options
from tpulint.rules.base import Report
from tpulint.rules.entry_calls import (
    REPLICATES,
    argument,
    certainty,
    entries,
    given,
    is_empty,
    is_given,
)

Rows = list[Value]


def check(program: Program, report: Report) -> None:
    for entry in entries(program, REPLICATES):
        shapes = argument(entry, "maximum_shapes")
        if shapes is None:
            continue

        def misfits(value: Value, entry: Computation = entry) -> bool:
            return fault(entry, value) is not None

        sure = certainty(entry, misfits, shapes.value)
        if sure is not None:
            faults = [fault(entry, each) for each in options(shapes.value)]
            said = next(each for each in faults if each)
            report(shapes.site.span, f"`maximum_shapes` {said}", certainty=sure)


def fault(entry: Computation, shapes: Value) -> str | None:
    """What TensorFlow says against `shapes`, in short."""
    if not is_given(shapes) or is_empty(shapes):
        return None
    if is_given(given(entry, "infeed_queue")):
        return "cannot be combined with `infeed_queue`"
    inputs = given(entry, "inputs")
    known = isinstance(inputs, Sequence) and not inputs.open
    if not isinstance(inputs, Sequence) or not known or not inputs.items:
        return None
    if _structures_differ(inputs.items[0], shapes):
        return "differs from `inputs[0]` in structure"
    rows = [_leaves(row) for row in inputs.items]
    maximums = _leaves(shapes)
    if any(len(row) != len(maximums) for row in rows):
        return None
    for number, maximum in enumerate(maximums):
        limit = shape_of(maximum)
        sizes = [described(row[number])[1] for row in rows]
        said = _exceeded(limit, sizes) if limit is not None else None
        if said is not None:
            return said
    return None


def _exceeded(limit: Shape, sizes: list[Shape | None]) -> str | None:
    """How one input of all replicas does not fit; only what differs is ever padded."""
    known = [each for each in sizes if each is not None]
    if len(known) != len(sizes) or len(known) < 2:
        return None
    if any(len(each) != len(known[0]) for each in known):
        return None
    columns = list(zip(*known, strict=True))
    padded = [None in column[1:] or len(set(column)) > 1 for column in columns]
    if not any(padded):
        return None
    if len(limit) != len(known[0]):
        return f"has rank {len(limit)} for an input of rank {len(known[0])}"
    for maximum, column, pads in zip(limit, columns, padded, strict=True):
        largest = max((size for size in column if size is not None), default=0)
        if pads and None not in column and maximum is not None and largest > maximum:
            return f"allows {maximum} where a replica's input has {largest}"
    return None


def _structures_differ(inputs: Value, shapes: Value) -> bool:
    """Whether `nest.assert_same_structure(inputs, shapes, check_types=False)` surely fails."""
    if isinstance(inputs, Sequence) and isinstance(shapes, Sequence):
        if inputs.open or shapes.open:
            return False
        if len(inputs.items) != len(shapes.items):
            return True
        pairs = zip(inputs.items, shapes.items, strict=True)
        return any(_structures_differ(*pair) for pair in pairs)
    if isinstance(inputs, Mapping) and isinstance(shapes, Mapping):
        closed = not inputs.open and not shapes.open
        return closed and inputs.items.keys() != shapes.items.keys()
    nested = isinstance(inputs, (Sequence, Mapping)), isinstance(shapes, (Sequence, Mapping))
    leaf = isinstance(inputs, Tensor) and inputs.dtype is not None
    shape = isinstance(shapes, Built) and shapes.last == "TensorShape"
    return (nested[0] and shape) or (leaf and nested[1])


def _leaves(value: Value) -> Rows:
    return list(_flat(value))


def _flat(value: Value) -> Iterator[Value]:
    if isinstance(value, Sequence):
        for item in value.items:
            yield from _flat(item)
    elif isinstance(value, Mapping):
        for key in sorted(value.items, key=str):
            yield from _flat(value.items[key])
    elif value != NONE:
        yield value
