"""TPU404: `maximum_shapes` that does not fit the inputs."""

from __future__ import annotations

from tpulint.absint.domain.events import Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.values import NONE, Value
from tpulint.frontends.tensorflow.shapes import Shape, described, shape_of
from tpulint.queries import entry_calls
from tpulint.rules.base import Program, Report, Rule, Severity, register

NESTED = (Sequence, Mapping)
LEAST = 2  # what TensorFlow pads to where the maximum is less


@register
class MaximumShapesMismatch(Rule):
    code = "TPU404"
    name = "maximum-shapes-mismatch"
    severity = Severity.ERROR
    summary = "maximum_shapes does not fit the inputs"

    def check(self, program: Program, report: Report) -> None:
        faults = entry_calls.faulty_arguments(program, "maximum_shapes", fault)
        for _, shapes, certainty, message in faults:
            report(shapes.site.span, f"`maximum_shapes` {message}", certainty=certainty)


def fault(entry: Computation, shapes: Value) -> str | None:
    """Return TensorFlow's objection to `shapes`, in short."""
    if not entry_calls.is_given(shapes):
        return None
    # tpu.py: "Dynamic input shapes are not supported with infeed queues".
    if entry_calls.is_given(entry_calls.argument_value(entry, "infeed_queue")):
        return "cannot be combined with `infeed_queue`: pass one of the two"
    inputs = entry_calls.argument_value(entry, "inputs")
    if not isinstance(inputs, Sequence) or inputs.open:
        return None
    if _structures_differ(inputs.items[0], shapes):
        return "does not have the structure of `inputs[0]`: nest it in the same way"
    if not all(_is_seen(item) for item in (*inputs.items, shapes)):
        return None
    rows = [_leaves(row) for row in inputs.items]
    maximums = _leaves(shapes)
    if any(len(row) != len(maximums) for row in rows):
        return None
    rounded = entry_calls.argument_value(entry, "padding_spec") != NONE
    for number, maximum in enumerate(maximums):
        limit = shape_of(maximum)
        sizes = [described(row[number])[1] for row in rows]
        message = _exceeded(limit, sizes, rounded) if limit is not None else None
        if message is not None:
            return message
    return None


def _exceeded(limit: Shape, sizes: list[Shape | None], rounded: bool) -> str | None:
    """Return the mismatch of one input over all replicas; only what differs is ever padded.

    rounded: a maximum may be rounded up, by `PaddingSpec.POWER_OF_TWO`.
    """
    known_sizes = [size for size in sizes if size is not None]
    ranks = {len(size) for size in known_sizes}
    if len(known_sizes) != len(sizes) or len(ranks) != 1:
        return None
    rank, columns = ranks.pop(), list(zip(*known_sizes, strict=True))
    # TensorFlow pads only dimensions that differ between replicas, or that no replica knows.
    padded = [None in column[1:] or len(set(column)) > 1 for column in columns]
    if not any(padded):
        return None
    if len(limit) != rank:
        return f"has rank {len(limit)} for an input of rank {rank}: use the same rank"
    for maximum, column, pads in zip(limit, columns, padded, strict=True):
        largest = max((size for size in column if size is not None), default=0)
        if not pads or None in column or maximum is None:
            continue
        room = max(maximum, LEAST)
        if largest > (1 << (room - 1).bit_length() if rounded else room):
            return f"allows {maximum} where a replica's input has {largest}: use the largest size"
    return None


def _structures_differ(inputs: Value, shapes: Value) -> bool:
    """Return whether `nest.assert_same_structure(inputs, shapes, check_types=False)` must fail."""
    if isinstance(inputs, NESTED) and isinstance(shapes, NESTED):
        if inputs.open or shapes.open:
            return False
        parts, limits = _parts(inputs), _parts(shapes)
        differ = any(_structures_differ(*pair) for pair in zip(parts, limits, strict=False))
        return len(parts) != len(limits) or differ
    leaf = isinstance(inputs, Tensor) and inputs.dtype is not None
    shape = isinstance(shapes, ExternalObject) and shapes.last == "TensorShape"
    return (isinstance(inputs, NESTED) and shape) or (leaf and isinstance(shapes, NESTED))


def _parts(value: Sequence | Mapping) -> list[Value]:
    """Return the items of a list or a dict in the order of `nest`: keys give the order only."""
    if isinstance(value, Sequence):
        return value.items
    return [value.items[key] for key in sorted(value.items, key=str)]


def _is_seen(value: Value) -> bool:
    """Return whether all of a structure is there."""
    if not isinstance(value, NESTED):
        return True
    return not value.open and all(_is_seen(part) for part in _parts(value))


def _leaves(value: Value) -> list[Value]:
    if not isinstance(value, NESTED):
        return [value]
    return [leaf for part in _parts(value) for leaf in _leaves(part)]
