"""The tensors reported to be on an emulated core, all of them in the memory of this CPU."""

from __future__ import annotations

import contextlib
import functools
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
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import host_of, is_emulated, is_there, on_pod
from tpulint.runtime.tensorflow_internals.processes import COORDINATORS_CPU, hosts_are_apart, run_by

_IN_OPTIONAL = "_tpulint_cores_in"

OutputCores = Mapping[str, Callable[[str, Sequence[Any]], Sequence[str | None]]]
"""By the name of a function, a callable that returns the cores of its outputs, given the device
that it is called on and its arguments."""


def core_of(value: Any) -> str | None:
    """Return the core of an eager tensor, or of an operation of a graph that is placed on one."""
    core: str | None = getattr(value, PLACED, None)
    return core


def set_core(values: Any, device: str | None) -> None:
    """Make the eager tensors in `values` report `device` as theirs, if that is emulated."""
    if not device or not is_emulated(device):
        return
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, list):
            set_core(value, device)
        elif isinstance(value, ops.EagerTensor):
            setattr(value, PLACED, device)


@contextlib.contextmanager
def cores_reported(
    functions: OutputCores, holds_computation: Callable[[str], bool]
) -> Iterator[None]:
    """Let tensors made under `tf.device("/device:TPU:1")` in the context report that device.

    The outputs of a function report the devices that `functions` gives. A function that
    `holds_computation` runs in this process, which sends each host its part, wherever it is called.
    """
    kind = ops.EagerTensor
    with contextlib.ExitStack() as places:
        for name, new in _executing(functions, holds_computation).items():
            places.enter_context(patched(f"tensorflow.python.pywrap_tfe.{name}", new))
        for name in ("device", "backing_device"):
            own = asked_for_or(kind.__dict__[name])
            target = f"tensorflow.python.framework.ops.EagerTensor.{name}"
            places.enter_context(patched(target, own))
        yield


def _executing(
    functions: OutputCores, holds_computation: Callable[[str], bool]
) -> dict[str, Callable[..., Any]]:
    fast, slow = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_Execute
    cancelable = pywrap_tfe.TFE_Py_ExecuteCancelable

    def say(results: Any, operation: Any, device: str | None, arguments: Sequence[Any]) -> Any:
        name = _name(operation)
        is_function = name in functions or eager_context.context().has_function(name)
        if device and is_emulated(device) and (on_pod(device) or not is_function):
            set_core(results, host_of(device) if is_function else device)
        if name in functions:
            for result, core in zip(results, functions[name](device or "", arguments)):
                set_core(result, core)
        _through_optional(name, [arguments] if name == "OptionalFromValue" else arguments, results)
        return results

    def fast_path_execute(ctx: Any, *args: Any) -> Any:
        results = fast(ctx, *args)
        set_core(results, ctx.device_name)
        operation, _, *arguments = args
        _through_optional(operation, arguments, results)
        return results

    def run(with_: Any, handle: Any, device: Any, operation: Any, *args: Any) -> Any:
        if hosts_are_apart() and holds_computation(_name(operation)):
            found = with_(handle, COORDINATORS_CPU, operation, *args)
        else:
            found = with_(handle, run_by(device) if is_there(device) else device, operation, *args)
        return say(found, operation, device, args[0])

    return {
        "TFE_Py_FastPathExecute": fast_path_execute,
        "TFE_Py_Execute": functools.partial(run, slow),
        "TFE_Py_ExecuteCancelable": functools.partial(run, cancelable),
    }


def _name(operation: Any) -> str:
    return operation.decode() if isinstance(operation, bytes) else operation


def _through_optional(operation: str, arguments: Sequence[Any], results: Any) -> None:
    """Let what comes out of an eager optional report the cores that went into it."""
    if operation == "OptionalFromValue":
        (optional,) = results if isinstance(results, list) else [results]
        setattr(optional, _IN_OPTIONAL, [core_of(one) for one in arguments[0]])
    elif operation == "OptionalGetValue":
        for result, core in zip(results, getattr(arguments[0], _IN_OPTIONAL, ())):
            set_core(result, core)


def unpacked(variables: Sequence[Any]) -> list[Any]:
    """Return `variables`, or those in the one packed variable among them, one a core."""
    (first, *_) = variables
    if isinstance(first, packed_distributed_variable.PackedDistributedVariable):
        return list(first._distributed_variables)
    return list(variables)


@contextlib.contextmanager
def packed_variables_unpacked() -> Iterator[None]:
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

    target = (
        "tensorflow.python.distribute.packed_distributed_variable.PackedDistributedVariable.handle"
    )
    with patched(target, property(handle)):
        yield
