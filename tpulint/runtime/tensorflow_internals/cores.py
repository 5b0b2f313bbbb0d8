"""Which tensors are said to be on an emulated core: all of them are in the memory of this CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.distribute import packed_distributed_variable, tpu_util
from tensorflow.python.eager import context as eager_context
from tensorflow.python.framework import ops

from tpulint.runtime.tensorflow_internals.emulation import replaced

_CORE = "_tpulint_core"


def say_on_core(values: Any, device: str | None) -> None:
    """Make the eager tensors in `values` say that they are on `device`, if that is a TPU core."""
    if not device or "device:TPU:" not in device:
        return
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, ops.EagerTensor):
            setattr(value, _CORE, device)
        elif isinstance(value, list):
            say_on_core(value, device)


@contextlib.contextmanager
def said_on_cores() -> Iterator[None]:
    """In here, what an operation makes under `tf.device("/device:TPU:1")` says that it is there."""
    fast, slow = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_Execute
    kind = ops.EagerTensor

    def fast_path_execute(ctx: Any, *args: Any) -> Any:
        results = fast(ctx, *args)
        say_on_core(results, ctx.device_name)
        return results

    def execute(handle: Any, device: Any, operation: Any, *args: Any) -> Any:
        results = slow(handle, device, operation, *args)
        if not _is_function(operation):
            say_on_core(results, device)
        return results

    with contextlib.ExitStack() as places:
        places.enter_context(replaced(pywrap_tfe, "TFE_Py_FastPathExecute", fast_path_execute))
        places.enter_context(replaced(pywrap_tfe, "TFE_Py_Execute", execute))
        for name in ("device", "backing_device"):
            places.enter_context(replaced(kind, name, _core_or(kind.__dict__[name])))
        yield


def _is_function(operation: Any) -> bool:
    name = operation.decode() if isinstance(operation, bytes) else operation
    return bool(eager_context.context().has_function(name))


def _core_or(real: Any) -> property:
    return property(lambda tensor: vars(tensor).get(_CORE) or real.__get__(tensor))


def unpacked(variables: Sequence[Any]) -> list[Any]:
    """`variables`, or those that the one packed variable among them holds, one a core."""
    (first, *_) = variables
    if isinstance(first, packed_distributed_variable.PackedDistributedVariable):
        return list(first._distributed_variables)
    return list(variables)


@contextlib.contextmanager
def unpacked_outside_computations() -> Iterator[None]:
    """In here, a packed variable in a graph, outside computations, is the one of the current core.

    TensorFlow finds that when it places the graph; here all cores are one device to it.
    """
    packed = packed_distributed_variable.PackedDistributedVariable
    real = packed.handle

    def handle(self: Any) -> Any:
        if tf.executing_eagerly() or tpu_util.enclosing_tpu_context() is not None:
            return real.fget(self)
        return self.get_var_on_current_device().handle

    with replaced(packed, "handle", property(handle)):
        yield
