"""The tensors reported to be on an emulated core, all of them in the memory of this CPU."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.emulated_placement import PLACED, asked_for_or
from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    ops,
    packed_distributed_variable,
    pywrap_tfe,
    tpu_util,
)
from tpulint.runtime.tensorflow_internals.replacing import replaced

_TPU = re.compile(r"device:TPU:\d+")

OutputCores = Mapping[str, Callable[[str, Sequence[Any]], Sequence[str | None]]]
"""By the name of a function, a callable that returns the cores of its outputs, given the device
that it is called on and its arguments."""


def core_of(value: Any) -> str | None:
    """Return the core of an eager tensor, or of an operation of a graph that is placed on one."""
    core: str | None = getattr(value, PLACED, None)
    return core


def say_on_core(values: Any, device: str | None) -> None:
    """Make the eager tensors in `values` report `device` as theirs, if that is a TPU core."""
    if not device or not _TPU.search(device):
        return
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, list):
            say_on_core(value, device)
        elif isinstance(value, ops.EagerTensor):
            setattr(value, PLACED, device)


@contextlib.contextmanager
def said_on_cores(functions: OutputCores) -> Iterator[None]:
    """Let tensors made under `tf.device("/device:TPU:1")` in the context report that device.

    The outputs of a function report the devices that `functions` gives.
    """
    kind = ops.EagerTensor
    with contextlib.ExitStack() as places:
        for name, new in _executing(functions).items():
            places.enter_context(replaced(pywrap_tfe, name, new))
        for name in ("device", "backing_device"):
            places.enter_context(replaced(kind, name, asked_for_or(kind.__dict__[name])))
        yield


def _executing(functions: OutputCores) -> dict[str, Callable[..., Any]]:
    fast, slow = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_Execute
    cancelable = pywrap_tfe.TFE_Py_ExecuteCancelable

    def say(results: Any, operation: Any, device: str | None, arguments: Sequence[Any]) -> Any:
        name = operation.decode() if isinstance(operation, bytes) else operation
        if name in functions:
            for result, core in zip(results, functions[name](device or "", arguments)):
                say_on_core(result, core)
        elif device and _TPU.search(device) and not eager_context.context().has_function(name):
            say_on_core(results, device)
        return results

    def fast_path_execute(ctx: Any, *args: Any) -> Any:
        results = fast(ctx, *args)
        say_on_core(results, ctx.device_name)
        return results

    def execute(handle: Any, device: Any, operation: Any, *args: Any) -> Any:
        return say(slow(handle, device, operation, *args), operation, device, args[0])

    def execute_cancelable(handle: Any, device: Any, operation: Any, *args: Any) -> Any:
        return say(cancelable(handle, device, operation, *args), operation, device, args[0])

    return {
        "TFE_Py_FastPathExecute": fast_path_execute,
        "TFE_Py_Execute": execute,
        "TFE_Py_ExecuteCancelable": execute_cancelable,
    }


def unpacked(variables: Sequence[Any]) -> list[Any]:
    """Return `variables`, or those in the one packed variable among them, one a core."""
    (first, *_) = variables
    if isinstance(first, packed_distributed_variable.PackedDistributedVariable):
        return list(first._distributed_variables)
    return list(variables)


@contextlib.contextmanager
def unpacked_outside_computations() -> Iterator[None]:
    """Let a packed variable in a graph, outside computations, be that of the current core.

    TensorFlow finds that when it places the graph; here all cores are one device to it.
    """
    packed = packed_distributed_variable.PackedDistributedVariable
    real = packed.handle

    def handle(self: Any) -> Any:
        if tf.executing_eagerly() or tpu_util.enclosing_tpu_context() is not None:
            return real.fget(self)
        try:
            return self.get_var_on_current_device().handle
        except ValueError:  # not on any of its cores
            return real.fget(self)

    with replaced(packed, "handle", property(handle)):
        yield
