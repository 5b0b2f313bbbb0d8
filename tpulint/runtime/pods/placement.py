"""What is placed on emulated devices: it runs on the CPU of this process or of a host."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.pods.devices import (
    current_pod,
    is_there,
    names_only_host,
    on_pod,
    run_by,
    run_here,
)
from tpulint.runtime.tensorflow_internals.modules import (
    constant_op,
    eager_context,
    functional_ops,
    ops,
    session,
)
from tpulint.runtime.tensorflow_internals.patching import patched

PLACED = "_tpulint_core"
"""The attribute of an operation or tensor that holds the device that was asked for."""
_VERSION = "_tpulint_placed"
_PLACING = threading.Lock()
_FIRST_TASK = re.compile(r"/job:(?!localhost(/|$))[^/]+(/replica:0)?(/task:0)?(?=/device|$)")


@contextlib.contextmanager
def emulated_devices_placed() -> Iterator[None]:
    """Run operations of graphs that are placed on emulated devices on the CPU in the context.

    They report the device on which they were placed. Soft placement would not do: it is off in the
    sessions of programs that give a `ConfigProto`, and it refuses operations colocated with a
    device that does not exist.
    """
    apply, extend = ops.Graph._apply_device_functions, session.BaseSession._extend_graph
    device, set_one = ops.Operation.device, ops.Operation._set_device

    def apply_device_functions(self: Any, op: Any) -> None:
        apply(self, op)
        if isinstance(op, ops.Operation):
            asked_for = device.fget(op)
            _place(op, asked_for, run_by(asked_for))

    def set_device(self: Any, asked_for: Any) -> None:
        set_one(self, asked_for)  # that of an operation with which it is colocated
        if hasattr(self, PLACED):
            delattr(self, PLACED)
        _place(self, device.fget(self), run_by(device.fget(self)))

    def extend_graph(self: Any) -> None:
        if not self._target:  # this process serves it, and has no other job
            _place_jobs_here(self._graph, device.fget)
        extend(self)

    sessions, framework = "tensorflow.python.client.session", "tensorflow.python.framework.ops"
    with contextlib.ExitStack() as places:
        for target, new in (
            (f"{framework}.Graph._apply_device_functions", apply_device_functions),
            (f"{sessions}.BaseSession._extend_graph", extend_graph),
            (f"{framework}.Operation.device", asked_for_or(device)),
            (f"{framework}.Operation._set_device", set_device),
        ):
            places.enter_context(patched(target, new))
        if hasattr(ops, "SymbolicTensor"):  # not in 2.12, where tensors ask their operations
            of_op = property(lambda tensor: tensor.op.device)
            places.enter_context(patched(f"{framework}.SymbolicTensor.device", of_op))
        yield


def asked_for_or(real: Any) -> property:
    """Return a property that is the requested device, if there is one, or else `real`."""
    return property(lambda of: getattr(of, PLACED, None) or real.__get__(of))


def _place_jobs_here(graph: Any, device_of: Any) -> None:
    """Place on this process the operations that `graph` has for the first task of any job.

    That is where the host of a TPU is in a program that names it; and graphs that were imported
    name devices, too.
    """
    with _PLACING:  # an operation that a session knows must not be placed once more
        if getattr(graph, _VERSION, 0) == graph.version:
            return
        for op in graph.get_operations():
            asked_for = device_of(op)
            if asked_for:
                here = _FIRST_TASK.sub("/job:localhost/replica:0/task:0", run_here(asked_for))
                _place(op, asked_for, here)
        setattr(graph, _VERSION, graph.version)


def _place(op: tf.Operation, asked_for: str, device: str) -> None:
    if device != asked_for:
        setattr(op, PLACED, asked_for)
        op._set_device_from_string(device)


_CONTEXT = "tensorflow.python.eager.context.Context"


@contextlib.contextmanager
def hosts_placed() -> Iterator[None]:
    """Let the process that is a host of the pod run what is placed there, in the context.

    The program sees the device scopes that it enters; TensorFlow's C++ sees where it runs.
    """
    kind = eager_context.Context
    name_of, set_device = kind.device_name, kind._set_device
    copy, remote_call = ops.EagerTensor._copy_nograd, functional_ops.remote_call
    constant = constant_op.convert_to_eager_tensor

    def device_name(self: Any) -> Any:
        name: str | None = name_of.fget(self)
        asked_for: str = self.device_spec.to_string() if name else ""
        is_of_host = bool(name) and (current_pod().is_connected or names_only_host(asked_for))
        return asked_for if is_of_host else name

    def _set_device(self: Any, name: Any, spec: Any) -> None:
        set_device(self, run_by(name) if is_there(name) else name, spec)

    def convert_to_eager_tensor(value: Any, ctx: Any, dtype: Any = None) -> Any:
        asked_for = ctx.device_name
        if not is_there(asked_for):
            return constant(value, ctx, dtype)
        found = constant(value, _ContextHere(run_by(asked_for)), dtype)
        if found is not value:
            setattr(found, PLACED, asked_for)
        return found

    def _copy_nograd(self: Any, ctx: Any = None, device_name: Any = None) -> Any:
        asked_for = device_name or eager_context.context().device_name
        return copy(self, ctx, run_by(asked_for) if is_there(asked_for) else device_name)

    def call(target: Any, *args: Any, **kwargs: Any) -> Any:
        value = tf.get_static_value(target) if isinstance(target, tf.Tensor) else target
        name = value.decode() if isinstance(value, bytes) else value
        here = run_by(name) if isinstance(name, str) and on_pod(name) else target
        return remote_call(here, *args, **kwargs)

    framework = "tensorflow.python.framework"
    with (
        patched(f"{_CONTEXT}.device_name", property(device_name)),
        patched(f"{_CONTEXT}._set_device", _set_device),
        patched(f"{framework}.constant_op.convert_to_eager_tensor", convert_to_eager_tensor),
        patched(f"{framework}.ops.EagerTensor._copy_nograd", _copy_nograd),
        patched("tensorflow.python.ops.functional_ops.remote_call", call),
    ):
        yield


@dataclass(frozen=True)
class _ContextHere:
    """The part of TensorFlow's context that makes a constant, on a device that it knows."""

    device_name: str

    def ensure_initialized(self) -> None:
        eager_context.context().ensure_initialized()
