"""Values that all replicas share, so that what depends on them is the same on each."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.analysis.domain.events import Tensor, Variable
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.values import Choice, Const, External, Opaque, Value


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
