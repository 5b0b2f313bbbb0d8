"""Operations, their attributes and inputs, and the stack they are made in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import tf2xla, tf_stack

Operation = Any
Tensor = Any


def operations_of(graph: Any) -> list[Operation]:
    """Return the operations of `graph`, in the order in which they were made."""
    # In 2.12, a loop's condition holds some that do not know their own inputs (while_v2.py).
    return [op for op in graph.get_operations() if type(op).__name__ != "_OperationWithOutputs"]


def set_attr(op: Operation, name: str, value: Any) -> None:
    """Set the attribute `name` of `op` to the AttrValue `value`."""
    op._set_attr(name, value)


def replace_control_inputs(op: Operation, control_inputs: list[Operation]) -> None:
    """Make `control_inputs` the only control inputs of `op`."""
    op._remove_all_control_inputs()
    op._add_control_inputs(control_inputs)


def add_control_inputs(op: Operation, earlier: Sequence[Operation]) -> None:
    """Make `op` wait for the operations `earlier` of its own graph."""
    op._add_control_inputs(list(earlier))


def update_input(op: Operation, index: int, tensor: Tensor) -> None:
    """Make `tensor` the data input `index` of `op`."""
    op._update_input(index, tensor)


def as_large_as_its_bound(tensor: Tensor, axis: int) -> Tensor:
    """Return `tensor`, in code that XLA compiles, padded along `axis` to the bound of its size."""
    return tf2xla.remove_dynamic_dimension_size(tensor, axis)


def stack_here() -> list[tuple[str, int]]:
    """Return (file, line) of each current frame, outermost first; AutoGraph's as the user's."""
    return [(frame.filename, frame.lineno) for frame in tf_stack.extract_stack()]


def stands_for(image: Operation, original: Operation) -> None:
    """Make tpulint report `image`, a copy, as made where `original` was made."""
    graph = image.graph
    if not hasattr(graph, "_tpulint_originals"):
        graph._tpulint_originals = {}
    graph._tpulint_originals[image.name] = original
