"""Devices, and the scopes that name them."""

from __future__ import annotations

from typing import Any

from tpulint.runtime.tensorflow_internals.modules import device_util, ops, pydev

Graph = Any

DeviceSpec = pydev.DeviceSpec
canonical_device = device_util.canonicalize


def device_stack(graph: Graph) -> Any:
    """Return the stack of device functions of `graph`, itself, not a copy."""
    return graph._device_function_stack


def set_device_stack(graph: Graph, stack: Any) -> None:
    """Make `stack` the stack of device functions of `graph`."""
    graph._device_function_stack = stack


def device_of_graph(graph: Graph) -> Any:
    """Return the DeviceSpec that an operation made now in `graph` would get."""
    probe = _DeviceProbe()
    graph._apply_device_functions(probe)
    return DeviceSpec.from_string(probe.device)


class _DeviceProbe:
    """The part of an operation that device functions use."""

    type = "FakeOp"
    device = ""

    def _set_device(self, device: Any) -> None:
        self.device = device.to_string() if isinstance(device, DeviceSpec) else device

    def _set_device_from_string(self, device: str) -> None:
        self.device = device


def no_colocation() -> Any:
    """Return a scope in which operations are colocated with nothing."""
    return ops.colocate_with(None, ignore_existing=True)
