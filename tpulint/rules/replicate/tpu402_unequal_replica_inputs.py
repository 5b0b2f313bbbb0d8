"""TPU402: replicas get inputs of different number, structure or dtype."""

from __future__ import annotations

from itertools import product

from tpulint.absint.domain.events import Computation, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.values import NONE, Const, Value
from tpulint.frontends.tensorflow.shapes import described
from tpulint.queries import entry_calls
from tpulint.queries.entry_calls import faulty_arguments
from tpulint.rules.base import Program, Report, Rule, Severity, register

SHARDS = ("shard", "split_compile_and_shard", "batch_parallel")


@register
class UnequalReplicaInputs(Rule):
    code = "TPU402"
    name = "unequal-replica-inputs"
    severity = Severity.ERROR
    summary = "replicas get inputs of different number, structure or dtype"

    def check(self, program: Program, report: Report) -> None:
        for _, passed, certainty, message in faulty_arguments(program, "inputs", difference):
            report(passed.site.span, message, certainty=certainty)
        for entry in entry_calls.replicate_calls(program, SHARDS):
            inputs = entry_calls.argument(entry, "inputs")
            count = entry_calls.constant_int(entry_calls.argument_value(entry, "num_shards"))
            # Another axis than the first may be divided.
            has_axes = entry.call.value("input_shard_axes", 3) not in (None, NONE)
            if inputs is None or not count or has_axes:
                continue
            sizes = indivisible_sizes(count, inputs.value)
            if sizes:
                report(
                    inputs.site.span,
                    f"`{entry.kind}` gives each of {count} shards as many rows, but {sizes[0]} rows"
                    f" cannot be divided by {count}: use a size that can",
                    certainty=entry_calls.certainty_if(entry),
                )


# tensorflow/python/tpu/tpu.py, `split_compile_and_shard`: `array_ops.split` of each input
def indivisible_sizes(count: int, inputs: Value) -> list[int]:
    """Return the known numbers of rows of `inputs` that `count` shards cannot share."""
    items = inputs.items if isinstance(inputs, Sequence) else []
    shapes = [described(item)[1] for item in items]
    first = [shape[0] for shape in shapes if shape]
    return [size for size in first if size is not None and size % count]


def difference(_entry: Computation, inputs: Value) -> str | None:
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
    differences = [_differ(*pair) for pair in product(left.options, right.options)]
    return differences[0] if all(differences) else None


def _differ(left: Value, right: Value) -> str | None:
    """Return the difference between two inputs, of which each is one thing."""
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.open or right.open:
            return None
        if len(left.items) != len(right.items):
            return "number"
        inner = [_between(*pair) for pair in zip(left.items, right.items, strict=True)]
        return next(filter(None, inner), "structure" if left.kind != right.kind else None)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.open or right.open:
            return None
        if left.items.keys() != right.items.keys():
            return "structure"
        inner = [_between(left.items[key], right.items[key]) for key in left.items]
        return next(filter(None, inner), None)
    structures = [value for value in (left, right) if isinstance(value, (Sequence, Mapping))]
    if structures:
        other = right if left is structures[0] else left
        is_tensor = isinstance(other, Tensor) and other.dtype is not None
        # Both are structures, of two kinds, or the other one is certainly none.
        differ = len(structures) > 1 or is_tensor or isinstance(other, Const)
        return "structure" if differ else None
    # TensorFlow makes None the constant 0.
    dtypes = ["int32" if it == NONE else described(it)[0] for it in (left, right)]
    return "dtype" if None not in dtypes and dtypes[0] != dtypes[1] else None
