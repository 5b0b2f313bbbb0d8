"""Copies of variables: those that the device programs work on, and those that a strategy keeps.

The device programs use copies of a variable that all replicas share. A strategy's copies of one
variable are compared after a step: on a TPU nothing says that they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import UnsynchronizedVariableWarning
from tpulint.runtime.execute.raising import call_python_if, warn_in_step
from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.variables import TouchedVariable, UnsynchronizedVariable
from tpulint.runtime.source_location import operation_location

# The shared_name with which VarHandleOp makes a variable of its own each time it runs
# (tensorflow/core/framework/resource_handle.h, ResourceHandle::ANONYMOUS_NAME).
_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


@dataclass(frozen=True, eq=False)
class VariableCopies:
    """The copies of one variable, one a replica."""

    variable: TouchedVariable
    original: Tensor
    copies: tuple[Tensor, ...]


def make_copies(
    variables: Iterable[TouchedVariable],
    images: Sequence[TensorMap],
    cores: Sequence[int],
    waits_for: Sequence[Operation],
) -> tuple[list[VariableCopies], list[Operation]]:
    """Return copies of `variables` for each replica, on `cores`, and what fills them."""
    made: list[VariableCopies] = []
    filled: list[Operation] = []
    for variable in variables:
        dtype = variable.dtype
        original = images[0].tensors[variable.handle]
        # The host clusters before the device program have written by now.
        with tf.control_dependencies(waits_for):
            value = _read(original, dtype)
        copies = []
        for here, core in zip(images, cores, strict=True):
            with devices.on_host_of_core(core):
                copy = here.device_tensors[variable.handle] = _make_variable(dtype)
                filled.append(_assign(copy, value))
            copies.append(copy)
        made.append(VariableCopies(variable, original, tuple(copies)))
    return made, filled


def write_back(copies: Iterable[VariableCopies], waits_for: Sequence[Operation]) -> list[Operation]:
    """Assign the first replica's copies to the variables after a step, as on a TPU."""
    written = []
    for copy in copies:
        if copy.variable.device_writes:
            with tf.control_dependencies(waits_for):
                value = _read(copy.copies[0], copy.variable.dtype)
                written.append(_assign(copy.original, value))
    return written


def _make_variable(dtype: Any) -> Tensor:
    return tf.raw_ops.VarHandleOp(
        dtype=dtype, shape=tf.TensorShape(None), shared_name=_ANONYMOUS, container=""
    )


def _read(handle: Tensor, dtype: Any) -> Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def _assign(handle: Tensor, value: Tensor) -> Operation:
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def compare_copies(
    variables: Sequence[UnsynchronizedVariable],
    images: Sequence[TensorMap],
    waits_for: Sequence[Operation],
) -> list[Operation]:
    """Return operations that compare the replicas' copies of `variables`, and warn if they differ.

    Copies in other processes are not compared: every step would have to fetch them.
    """
    if devices.hosts_are_remote():
        return []
    with tf.control_dependencies(waits_for):
        return [_compare(variable, images) for variable in variables]


def _compare(variable: UnsynchronizedVariable, images: Sequence[TensorMap]) -> Operation:
    first, *others = (
        tf.raw_ops.ReadVariableOp(resource=here.tensors[variable.handle], dtype=variable.dtype)
        for here in images
    )
    differs = tf.stack([_have_different_values(first, other) for other in others])
    report = _first_call_only(lambda *values: _warn_of_difference(variable, *values))
    return call_python_if(tf.reduce_any(differs), report, [differs])


def _have_different_values(first: Tensor, other: Tensor) -> Tensor:
    """Return whether two copies have different values; two that are not numbers are alike."""
    differs = tf.not_equal(first, other)
    if first.dtype.is_floating:
        differs &= ~(tf.math.is_nan(first) & tf.math.is_nan(other))
    return tf.reduce_any(differs)


def _first_call_only(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls `function` the first time only."""
    left = [function]

    def call(*values: Any) -> None:
        if left:
            left.pop()(*values)

    return call


def _warn_of_difference(variable: UnsynchronizedVariable, differs: Any) -> None:
    core = 1 + list(differs).index(True)
    message = (
        f"The copies of '{variable.name}' on cores 0 and {core} differ after a step. Each replica "
        "assigns a value that depends on its own data, and the variable has no `aggregation` that "
        'combines the values. Create it with `aggregation="mean"` '
        "(`tf.VariableAggregation.MEAN`), or reduce the value over the replicas first"
    )
    place = operation_location(variable.write)
    warn_in_step(UnsynchronizedVariableWarning(message, place=place))
