"""The placement of graph operations meant for emulated devices: this host's CPU."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import ops, session
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.processes import run_by, run_here

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
