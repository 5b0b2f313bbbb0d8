"""What is placed on emulated devices: it runs on the CPU of this process or of a host."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.pods.devices import (
    current_pod,
    executing_device,
    is_on_connected_host,
    is_on_pod,
    local_device,
    names_only_host,
)
from tpulint.runtime.tensorflow_internals.modules import eager_context, ops
from tpulint.runtime.tensorflow_internals.patching import When, patch

PLACED = "_tpulint_core"
"""The attribute of an operation or tensor that holds the device that was asked for."""
_VERSION = "_tpulint_placed"
_PLACING = threading.Lock()
_FIRST_TASK = re.compile(r"/job:(?!localhost(/|$))[^/]+(/replica:0)?(/task:0)?(?=/device|$)")
_ON_CPU = "operations of graphs that are placed on emulated cores run on the CPU, and report them"
_ON_HOSTS = "the hosts of a pod are processes, or this one, and the program sees them as machines"
_OPS = "tensorflow.python.framework.ops"
_device_of = ops.Operation.device.fget
"""TensorFlow's own: the device on which an operation runs."""


@patch(f"{_OPS}.Graph._apply_device_functions", why=_ON_CPU, when=When.EMULATED)
def _apply_device_functions(original: Callable[..., None], self: Any, op: Any) -> None:
    """Place an operation on the CPU, and let it report the device that the program has named.

    Soft placement would not do: it is off in the sessions of programs that give a `ConfigProto`,
    and it refuses operations colocated with a device that does not exist.
    """
    original(self, op)
    if isinstance(op, ops.Operation):
        asked_for = _device_of(op)
        _place(op, asked_for, executing_device(asked_for))


@patch(f"{_OPS}.Operation._set_device", why=_ON_CPU, when=When.EMULATED)
def _set_device(original: Callable[..., None], self: Any, asked_for: Any) -> None:
    original(self, asked_for)  # that of an operation with which it is colocated
    if hasattr(self, PLACED):
        delattr(self, PLACED)
    _place(self, _device_of(self), executing_device(_device_of(self)))


@patch(
    "tensorflow.python.client.session.BaseSession._extend_graph",
    why=_ON_CPU,
    when=When.EMULATED,
)
def _extend_graph(original: Callable[..., None], self: Any) -> None:
    if not self._target:  # this process serves it, and has no other job
        _place_jobs_here(self._graph)
    original(self)


@patch(f"{_OPS}.Operation.device", why=_ON_CPU, when=When.EMULATED)
def asked_for_device(original: Callable[[Any], Any], self: Any) -> Any:
    """Return the device that the program has named, if there is one, or else the `original`."""
    return getattr(self, PLACED, None) or original(self)


@patch(f"{_OPS}.SymbolicTensor.device", why=_ON_CPU, when=When.EMULATED, since="2.15")
def _device_of_tensor(_: Callable[[Any], Any], self: Any) -> Any:
    return self.op.device  # as in 2.12


def _place_jobs_here(graph: Any) -> None:
    """Place on this process the operations that `graph` has for the first task of any job.

    That is where the host of a TPU is in a program that names it; and graphs that were imported
    name devices, too.
    """
    with _PLACING:  # an operation that a session knows must not be placed once more
        if getattr(graph, _VERSION, 0) == graph.version:
            return
        for op in graph.get_operations():
            asked_for = _device_of(op)
            if asked_for:
                here = _FIRST_TASK.sub("/job:localhost/replica:0/task:0", local_device(asked_for))
                _place(op, asked_for, here)
        setattr(graph, _VERSION, graph.version)


def _place(op: tf.Operation, asked_for: str, device: str) -> None:
    if device != asked_for:
        setattr(op, PLACED, asked_for)
        op._set_device_from_string(device)


_CONTEXT = "tensorflow.python.eager.context.Context"


@patch(f"{_CONTEXT}.device_name", why=_ON_HOSTS, when=When.EMULATED)
def _device_name(original: Callable[[Any], str | None], self: Any) -> Any:
    # The program sees the scopes that it enters; TensorFlow's C++ sees where that runs.
    name = original(self)
    asked_for: str = self.device_spec.to_string() if name else ""
    is_of_host = bool(name) and (current_pod().is_connected or names_only_host(asked_for))
    return asked_for if is_of_host else name


@patch(f"{_CONTEXT}._set_device", why=_ON_HOSTS, when=When.EMULATED)
def _enter_device(original: Callable[..., None], self: Any, name: Any, spec: Any) -> None:
    original(self, executing_device(name) if is_on_connected_host(name) else name, spec)


@patch(
    "tensorflow.python.framework.constant_op.convert_to_eager_tensor",
    why=_ON_HOSTS,
    when=When.EMULATED,
)
def _convert_to_eager_tensor(
    original: Callable[..., Any], value: Any, ctx: Any, dtype: Any = None
) -> Any:
    asked_for = ctx.device_name
    if not is_on_connected_host(asked_for):
        return original(value, ctx, dtype)
    tensor = original(value, _ContextHere(executing_device(asked_for)), dtype)
    if tensor is not value:
        setattr(tensor, PLACED, asked_for)
    return tensor


@patch(f"{_OPS}.EagerTensor._copy_nograd", why=_ON_HOSTS, when=When.EMULATED)
def _copy_nograd(
    original: Callable[..., Any], self: Any, ctx: Any = None, device_name: Any = None
) -> Any:
    asked_for = device_name or eager_context.context().device_name
    return original(
        self, ctx, executing_device(asked_for) if is_on_connected_host(asked_for) else device_name
    )


@patch("tensorflow.python.ops.functional_ops.remote_call", why=_ON_HOSTS, when=When.EMULATED)
def _remote_call(original: Callable[..., Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    value = tf.get_static_value(target) if isinstance(target, tf.Tensor) else target
    name = value.decode() if isinstance(value, bytes) else value
    here = executing_device(name) if isinstance(name, str) and is_on_pod(name) else target
    return original(here, *args, **kwargs)


@dataclass(frozen=True)
class _ContextHere:
    """The part of TensorFlow's context that makes a constant, on a device that it knows."""

    device_name: str

    def ensure_initialized(self) -> None:
        eager_context.context().ensure_initialized()
