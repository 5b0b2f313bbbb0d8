"""The results of a computation, as operations of its graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.events import Computation, Operation, Tensor, Variable
from tpulint.analysis.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.analysis.domain.values import UNKNOWN, Const, Value, options


@dataclass(frozen=True)
class Results:
    """operations: what makes them. complete: it is known that there are no others.

    flat: no structure holds another, so that TensorFlow hands them out as they are
    (tensorflow/python/tpu/tpu.py, _postprocess_non_flat_outputs).
    """

    operations: tuple[Operation, ...]
    complete: bool
    flat: bool


def results_of(computation: Computation) -> Results:
    value = computation.result if computation.result is not None else UNKNOWN
    leaves = list(_leaves(value))
    operations = [
        each.operation for each in leaves if isinstance(each, Tensor) and each.operation is not None
    ]
    complete = all(isinstance(each, (Tensor, Variable, Const)) for each in leaves)
    return Results(tuple(operations), complete, all(map(_is_flat, options(value))))


def _leaves(value: Value, depth: int = 5) -> Iterator[Value]:
    for option in options(value):
        inner: list[Value] | None = None
        if isinstance(option, Sequence):
            inner = [*option.items, *([UNKNOWN] if option.open else [])]
        elif isinstance(option, Mapping):
            inner = [*option.items.values(), *([UNKNOWN] if option.open else [])]
        elif isinstance(option, (ExternalObject, Instance)):
            inner = [*option.attributes.values(), UNKNOWN]
            if isinstance(option, ExternalObject):
                inner += [each for _, each in option.arguments]
        if inner is None or not depth:
            yield option
        else:
            for each in inner:
                yield from _leaves(each, depth - 1)


def _is_flat(value: Value) -> bool:
    if isinstance(value, Mapping):
        return False
    structures = (Sequence, Mapping)
    return not isinstance(value, Sequence) or not any(
        isinstance(option, structures) for item in value.items for option in options(item)
    )
