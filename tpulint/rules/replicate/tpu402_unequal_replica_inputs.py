"""TPU402: replicas get inputs of different number, structure or dtype."""

from __future__ import annotations

from functools import partial
from itertools import product

from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.values import NONE, Const, Value, options
from tpulint.finding import Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.shapes import described
from tpulint.queries.entry_calls import (
    REPLICATES,
    argument,
    certainty_of_fault,
    constant_int,
    replicate_calls,
)
from tpulint.rules.base import Report, Rule, register

SHARDS = ("shard", "split_compile_and_shard", "batch_parallel")


@register
class UnequalReplicaInputs(Rule):
    code = "TPU402"
    name = "unequal-replica-inputs"
    severity = Severity.ERROR
    summary = "replicas get inputs of different number, structure or dtype"

    def check(self, program: Program, report: Report) -> None:
        for entry in replicate_calls(program, REPLICATES):
            inputs = argument(entry, "inputs")
            if inputs is None:
                continue
            certainty = certainty_of_fault(
                entry, lambda value: difference(value) is not None, inputs.value
            )
            if certainty is not None:
                differences = [difference(option) for option in options(inputs.value)]
                message = next(text for text in differences if text)
                report(inputs.site.span, message, certainty=certainty)
        for entry in replicate_calls(program, SHARDS):
            inputs, shards = argument(entry, "inputs"), argument(entry, "num_shards")
            axes = entry.call.argument("input_shard_axes", 3)
            count = constant_int(shards.value) if shards is not None else None
            # Another axis than the first may be divided.
            if inputs is None or not count or (axes is not None and axes.value != NONE):
                continue
            sizes = indivisible_sizes(inputs.value, count)
            cannot_share = partial(has_indivisible_size, count)
            certainty = certainty_of_fault(entry, cannot_share, inputs.value)
            if sizes and certainty is not None:
                report(
                    inputs.site.span,
                    f"`{entry.kind}` gives each of {count} shards as many rows, but {sizes[0]} rows"
                    f" cannot be divided by {count}: use a size that can",
                    certainty=certainty,
                )


# tensorflow/python/tpu/tpu.py, `split_compile_and_shard`: `array_ops.split` of each input
def indivisible_sizes(inputs: Value, count: int) -> list[int]:
    """Return the known numbers of rows of `inputs` that `count` shards cannot share."""
    items = inputs.items if isinstance(inputs, Sequence) else []
    shapes = [described(item)[1] for item in items]
    first = [shape[0] for shape in shapes if shape]
    return [size for size in first if size is not None and size % count]


def has_indivisible_size(count: int, inputs: Value) -> bool:
    return bool(indivisible_sizes(inputs, count))


def difference(inputs: Value) -> str | None:
    """Return the certain difference between the rows of `inputs`."""
    if not isinstance(inputs, Sequence) or inputs.kind != "list" or inputs.open:
        return None
    rows = inputs.items
    # Rows of another kind are TPU401.
    if not all(isinstance(row, Sequence) and row.kind != "set" for row in rows):
        return None
    for number, row in enumerate(rows[1:], 1):
        text = _between(rows[0], row)
        if text is not None:
            replicas = f"replica 0 and replica {number}"
            return f"the inputs of {replicas} differ in {text}: give both the same {text}"
    return None


def _between(left: Value, right: Value) -> str | None:
    """Return the difference between two inputs that holds for all their alternatives."""
    differences = [
        _differ(option, other) for option, other in product(options(left), options(right))
    ]
    return differences[0] if all(differences) else None


def _differ(left: Value, right: Value) -> str | None:
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.open or right.open:
            return None
        if len(left.items) != len(right.items):
            return "number"
        inner = [_between(*pair) for pair in zip(left.items, right.items, strict=True)]
        return next((text for text in inner if text), None) or (
            "structure" if left.kind != right.kind else None
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.open or right.open:
            return None
        if left.items.keys() != right.items.keys():
            return "structure"
        inner = [_between(left.items[key], right.items[key]) for key in left.items]
        return next((text for text in inner if text), None)
    if isinstance(left, (Sequence, Mapping)) or isinstance(right, (Sequence, Mapping)):
        other = right if isinstance(left, (Sequence, Mapping)) else left
        return "structure" if isinstance(other, (Sequence, Mapping)) or _is_leaf(other) else None
    dtypes = [_dtype(value) for value in (left, right)]
    return "dtype" if None not in dtypes and dtypes[0] != dtypes[1] else None


def _dtype(value: Value) -> str | None:
    """Return the dtype of an input, where it is seen; TensorFlow makes None the constant 0."""
    return "int32" if value == NONE else described(value)[0]


def _is_leaf(value: Value) -> bool:
    """Return whether `value` is certainly no structure."""
    return isinstance(value, Const) or (isinstance(value, Tensor) and value.dtype is not None)
