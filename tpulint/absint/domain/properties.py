"""Properties of values that pass on to what is made of them: uniform on all replicas, scalar."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.absint.domain.events import Tensor, Variable
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.values import Choice, Const, External, Opaque, Value, options


def uniform(items: Iterable[Value]) -> bool:
    """Return whether every replica has the same in `items`: settings, and what they agreed on."""
    return all(_uniform(item) for item in items)


def _uniform(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.uniform or is_captured(value)
    if isinstance(value, Variable):
        return is_counter(value)
    if isinstance(value, Sequence):
        return not value.open and uniform(value.items)
    if isinstance(value, Choice):
        return uniform(value.options)
    return isinstance(value, (Const, External, Opaque))  # Python's, read once for all replicas


def is_counter(variable: Variable) -> bool:
    """Return whether it counts steps: every replica counts the same ones."""
    return variable.sort == "step" or variable.counts


def is_captured(tensor: Tensor) -> bool:
    """Return whether the tensor was made outside every computation: those that use it share it."""
    return tensor.made is not None and tensor.made.computation is None


def is_scalar(value: Value) -> bool:
    """Return whether `value` certainly becomes a scalar, as a tensor."""
    return all(_is_one(option) for option in options(value))


def _is_one(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (bool, int, float))
    if isinstance(value, Variable):
        return value.sort == "step"
    if isinstance(value, External):
        return ".FLAGS." in f".{value.path}"
    return isinstance(value, Tensor) and value.shape == ()


def of_scalars(values: Iterable[Value]) -> bool:
    """Return whether an operator on `values` gives a scalar."""
    listed = list(values)
    return bool(listed) and all(is_scalar(value) for value in listed)
