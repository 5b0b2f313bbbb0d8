"""The copies of a variable, compared after a step: on a TPU nothing says that they differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import UnsynchronizedVariableWarning
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.variables import UnsynchronizedVariable
from tpulint.runtime.source_location import place_of_operation


def compare_copies(
    variables: Sequence[UnsynchronizedVariable],
    images: Sequence[TensorMap],
    waits_for: Sequence[Operation],
) -> list[Operation]:
    """Return operations that compare the replicas' copies of `variables`, and warn if they differ.

    Copies in other processes are not compared: every step would have to fetch them.
    """
    if devices.hosts_are_apart():
        return []
    with tf.control_dependencies(waits_for):
        return [_compare(variable, images) for variable in variables]


def _compare(variable: UnsynchronizedVariable, images: Sequence[TensorMap]) -> Operation:
    first, *others = (
        tf.raw_ops.ReadVariableOp(resource=here.tensors[variable.handle], dtype=variable.dtype)
        for here in images
    )
    differs = tf.stack([_differ(first, other) for other in others])
    report = _once(lambda *values: _warn(variable, *values))

    def note() -> Tensor:
        with tf.control_dependencies([call_python(report, [differs])]):
            return tf.constant(True)

    return tf.cond(tf.reduce_any(differs), note, lambda: tf.constant(False)).op


def _differ(one: Tensor, other: Tensor) -> Tensor:
    """Return whether two copies have different values; two that are not numbers are alike."""
    differs = tf.not_equal(one, other)
    if one.dtype.is_floating:
        differs &= ~(tf.math.is_nan(one) & tf.math.is_nan(other))
    return tf.reduce_any(differs)


def _once(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls `function` the first time only."""
    left = [function]

    def call(*values: Any) -> None:
        if left:
            left.pop()(*values)

    return call


def _warn(variable: UnsynchronizedVariable, differs: Any) -> None:
    core = 1 + list(differs).index(True)
    message = (
        f"The copies of '{variable.name}' on cores 0 and {core} differ after a step. Each replica "
        "assigns a value that depends on its own data, and the variable has no `aggregation` that "
        'combines the values. Create it with `aggregation="mean"` '
        "(`tf.VariableAggregation.MEAN`), or reduce the value over the replicas first"
    )
    place = place_of_operation(variable.write)
    warning = UnsynchronizedVariableWarning(message, place=place)
    filename, _, line = (place or "").rpartition(":")
    # This thread is TensorFlow's: no frame of the user's is on its stack.
    warnings.warn_explicit(warning, type(warning), filename or __file__, int(line or 1))
