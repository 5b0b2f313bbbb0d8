"""Copies that the device programs use in place of a variable that all replicas share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.variables import TouchedVariable

_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The shared_name with which VarHandleOp makes a variable of its own each time it runs
(tensorflow/core/framework/resource_handle.h, ResourceHandle::ANONYMOUS_NAME)."""


@dataclass(frozen=True, eq=False)
class Copy:
    """The copies of one variable, one a replica."""

    variable: TouchedVariable
    original: Tensor
    copies: tuple[Tensor, ...]


def make_copies(
    variables: Iterable[TouchedVariable],
    images: Sequence[TensorMap],
    cores: Sequence[int],
    waits_for: Sequence[Operation],
) -> tuple[list[Copy], list[Operation]]:
    """Return copies of `variables` for each replica, on `cores`, and what fills them."""
    made: list[Copy] = []
    filled: list[Operation] = []
    for variable in variables:
        dtype = variable.dtype
        original = images[0].tensors[variable.handle]
        with tf.control_dependencies(waits_for):
            value = _read(original, dtype)
        copies = []
        for here, core in zip(images, cores, strict=True):
            with devices.on_host_of_core(core):
                copy = here.device_tensors[variable.handle] = _new(dtype)
                filled.append(_assign(copy, value))
            copies.append(copy)
        made.append(Copy(variable, original, tuple(copies)))
    return made, filled


def write_back(copies: Iterable[Copy], waits_for: Sequence[Operation]) -> list[Operation]:
    """Assign the first replica's copies to the variables after a step, as on a TPU."""
    written = []
    for copy in copies:
        if copy.variable.device_writes:
            with tf.control_dependencies(waits_for):
                value = _read(copy.copies[0], copy.variable.dtype)
                written.append(_assign(copy.original, value))
    return written


def _new(dtype: Any) -> Tensor:
    return tf.raw_ops.VarHandleOp(
        dtype=dtype, shape=tf.TensorShape(None), shared_name=_ANONYMOUS, container=""
    )


def _read(handle: Tensor, dtype: Any) -> Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def _assign(handle: Tensor, value: Tensor) -> Operation:
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)
