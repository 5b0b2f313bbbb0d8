"""TensorFlow's infeed and outfeed operations, and the topology that numbers the cores."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime.tensorflow_internals.devices import DeviceSpec, device_of_graph, no_colocation
from tpulint.runtime.tensorflow_internals.graphs import default_graph
from tpulint.runtime.tensorflow_internals.modules import (
    AutomaticControlDependencies,
    eager_context,
    gen_tpu_ops,
    topology,
    tpu_ops,
)
from tpulint.runtime.tensorflow_internals.patching import patched

Operation = Any

_INDEPENDENT = "_tpulint_independent"


@contextlib.contextmanager
def feeds_handled_by(
    functions: Iterable[Callable[..., Any]], unless: Callable[[], bool]
) -> Iterator[None]:
    """Call each of `functions` for TensorFlow's of the same name, unless `unless()`."""
    with contextlib.ExitStack() as patches:
        for function in functions:
            name = function.__name__
            chosen = _chosen(getattr(gen_tpu_ops, name), function, unless)
            for module in (gen_tpu_ops, tpu_ops):
                patches.enter_context(patched(f"{module.__name__}.{name}", chosen))
        yield


def _chosen(
    theirs: Callable[..., Any], ours: Callable[..., Any], unless: Callable[[], bool]
) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        return (theirs if unless() else ours)(*args, **kwargs)

    return function


def runs_independently(op: Operation) -> None:
    """Keep functions from making `op` wait for earlier operations, as TensorFlow's enqueues."""
    if not hasattr(op.graph, _INDEPENDENT):
        setattr(op.graph, _INDEPENDENT, [])
    getattr(op.graph, _INDEPENDENT).append(op)


def independent_operations() -> contextlib.AbstractContextManager[None]:
    """Return a context in which functions heed `runs_independently`."""
    original = AutomaticControlDependencies.__exit__

    @functools.wraps(original)
    def __exit__(self: Any, *error: Any) -> Any:
        for op in getattr(self._graph, _INDEPENDENT, ()):
            self.run_independently(op)
        return original(self, *error)

    dependencies = "tensorflow.python.framework.auto_control_deps.AutomaticControlDependencies"
    return patched(f"{dependencies}.__exit__", __exit__)


def device_here() -> Any:
    """Return the DeviceSpec that an operation made now would get."""
    if tf.executing_eagerly():
        return DeviceSpec.from_string(eager_context.context().device_name or "")
    graph = default_graph()
    for op in graph._colocation_stack.peek_objs():
        if op.device:
            return DeviceSpec.from_string(op.device)
    return device_of_graph(graph)


@contextlib.contextmanager
def beside_devices(name: str) -> Iterator[None]:
    """Make operations in the context without a device or colocation."""
    with tf.name_scope(name), tf.device(None), no_colocation():
        yield


def topology_of(serialized: bytes) -> Any:
    """Return the Topology of `serialized`."""
    return topology.Topology(serialized=serialized)


def core_assignment_of(flat: list[int], cores_per_replica: int, of: Any) -> Any:
    """Return the coordinates in `flat`, by replica and logical core."""
    return np.reshape(flat, [-1, cores_per_replica, of.mesh_rank])
